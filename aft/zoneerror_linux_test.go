package aft_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// otherWayMain lives with the error of its first zone, and goes another way because of it. In
// the second zone a process is killed.
func otherWayMain() error {
	factor := 1
	err := aft.Run(context.Background(), func(context.Context, *aft.Zone) error { return errors.New("it does not converge") })
	if err != nil {
		factor = 10
	}
	if b := (*aft.BodyError)(nil); !errors.As(err, &b) || b.Text != "it does not converge" {
		return fmt.Errorf("the first zone has ended with %v", err)
	}
	return aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		if z.Original() == 2 && z.Epoch() == 0 {
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
			select {}
		}
		sum, err := comm.AllreduceOne(ctx, z.Comm(), factor, comm.Sum[int])
		if err == nil && z.Comm().Rank() == 0 {
			fmt.Println("sum", sum)
		}
		return err
	})
}

// All ranks go the way that the error of an earlier zone leads to, a replacement too.
func TestReplacementAfterAZoneWithAnError(t *testing.T) {
	stdout, stderr, code := launched(t, comm.Policy{Spawn: comm.Reuse}, t.TempDir(), "other-way")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "sum 40\n")
}
