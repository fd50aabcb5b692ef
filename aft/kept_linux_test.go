package aft_test

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// What keptMain does: steps in all, and between two deaths.
const (
	keptSteps  = 200
	keptDeaths = 6
)

// keptMain counts in a mirror, with long messages on its communicator beside it. Each
// attempt but the last ends with the death of another rank.
func keptMain() error {
	return aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		z.Step(z.Epoch())
		if _, changed := z.Change(); changed != (z.Epoch() > 0) {
			return fmt.Errorf("change %v in epoch %d", changed, z.Epoch())
		}
		m, err := mirrorOf(z.Comm())
		if err != nil {
			return err
		}
		if err := m.meet(ctx, z.Comm()); err != nil {
			return err
		}
		every := int64(keptSteps / (keptDeaths + 1))
		if least := every*int64(z.Epoch()) - 1; z.Epoch() > 0 && m.own < least {
			return fmt.Errorf("rank %d is at %d, it was at %d at least", z.Comm().Rank(), m.own, least)
		}
		for m.own < keptSteps {
			if err := longMessages(ctx, m.comm); err != nil {
				return err
			}
			if err := m.store(ctx, m.own+1); err != nil {
				return err
			}
			if _, err := comm.AllreduceOne(ctx, z.Comm(), m.own, comm.Min); err != nil {
				return err
			}
			if z.Epoch() < keptDeaths && int(z.Original()) == z.Epoch()%4 && m.own == every*int64(z.Epoch()+1) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		}
		if z.Comm().Rank() == 0 {
			fmt.Println(m.own, z.Epoch())
		}
		return nil
	})
}

// longMessages go around the ring, and are whole.
func longMessages(ctx context.Context, c *comm.Comm) error {
	n, me := comm.Rank(c.Size()), c.Rank()
	data, got := make([]int64, 40_000), make([]int64, 40_000)
	data[len(data)-1] = int64(me)
	_, _, err := comm.Sendrecv(ctx, c, (me+1)%n, mirrorTag+1, data, (me+n-1)%n, mirrorTag+1, got)
	if left := int64((me + n - 1) % n); err == nil && got[len(got)-1] != left {
		err = fmt.Errorf("the end of rank %d's message is %d", left, got[len(got)-1])
	}
	return err
}

// TestKeptInProcesses: what is kept lives through the SIGKILL of each rank in turn.
func TestKeptInProcesses(t *testing.T) {
	stdout, stderr, code := launched(t, comm.Policy{Spawn: comm.Reuse}, t.TempDir(), "kept")
	require.Zero(t, code, stderr)
	require.Equal(t, fmt.Sprintln(keptSteps, keptDeaths), stdout)
}
