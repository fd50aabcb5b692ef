package aft_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// behindMain is killed by what is behind its only zone.
func behindMain() error {
	if err := aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error { return comm.Barrier(ctx, z.Comm()) }); err != nil {
		return err
	}
	fmt.Println("behind the zone")
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// TestAllAreKilledBehindTheZone: another zone might follow, so all are started again; that
// happens once.
func TestAllAreKilledBehindTheZone(t *testing.T) {
	stdout, stderr, code := launched(t, comm.Policy{Spawn: comm.Reuse}, t.TempDir(), "behind")
	require.Equal(t, 137, code, stderr)
	require.Equal(t, 2*4, strings.Count(stdout, "behind the zone\n"), stderr)
}
