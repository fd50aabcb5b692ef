package embedded_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// idleWork is the processor time that rank 0 computes for while the others wait.
const idleWork = 300 * time.Millisecond

// TestWaitingRanksLeaveTheCores: more ranks than cores do not suffer from the
// spinning, because those that wait use hardly any processor time.
func TestWaitingRanksLeaveTheCores(t *testing.T) { launchProcesses(t, 2, 8, "idle", "") }

// waitIdly is the body of its ranks.
func waitIdly(ctx context.Context, c *comm.Comm) error {
	if err := comm.Barrier(ctx, c); err != nil {
		return err
	}
	began := processorTime()
	for c.Rank() == 0 && processorTime()-began < idleWork {
	}
	if err := comm.Barrier(ctx, c); err != nil {
		return err
	}
	if used := processorTime() - began; c.Rank() != 0 && used > idleWork/3 {
		return fmt.Errorf("rank %d used %v of the processors while rank 0 computed for %v", c.Rank(), used, idleWork)
	}
	return nil
}

// processorTime is that of this process so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
