package aft_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// messagesMain: ranks 0 and 1 send each other long messages without end, until rank 3 kills
// itself, in each of some epochs, in the midst of that.
func messagesMain() error {
	const epochs, length, window = 15, 1 << 20, 8
	newcomer := true
	return aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		if newcomer && z.Epoch() > 0 {
			fmt.Println("replaced", z.Original())
		}
		newcomer = false
		z.Step(z.Epoch())
		c := z.Comm()
		if err := comm.Barrier(ctx, c); err != nil || z.Epoch() == epochs {
			return err
		}
		if c.Rank() == 3 {
			_, _, _ = comm.Recv(ctx, c, 0, 2, make([]byte, 0))
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		if c.Rank() >= 2 {
			<-ctx.Done()
			return ctx.Err()
		}
		peer := 1 - c.Rank()
		data, buf := make([]byte, length), make([]byte, length)
		for i := 0; ; i++ {
			var all []comm.Request
			for range window {
				all = append(all, comm.Irecv(c, peer, 1, buf), comm.Isend(c, peer, 1, data))
			}
			if i == z.Epoch()%5 && c.Rank() == 0 {
				all = append(all, comm.Isend[byte](c, 3, 2, nil))
			}
			for _, r := range all {
				if _, err := r.Wait(ctx); err != nil {
					return err
				}
			}
		}
	}, aft.WithLogger(slog.New(slog.DiscardHandler)), aft.WithRecoveryDelay(time.Millisecond))
}

// TestLongMessagesAndFailures: a recovery that meets long messages on their way takes no
// survivor with it.
func TestLongMessagesAndFailures(t *testing.T) {
	stdout, stderr, code := launched(t, comm.Policy{Spawn: comm.Reuse}, t.TempDir(), "messages")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "replaced 3\n")
	require.NotRegexp(t, "replaced [012]", stdout, stderr)
}
