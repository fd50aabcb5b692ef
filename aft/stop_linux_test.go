package aft_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testtime"
)

// farewellMain answers SIGTERM with exit code 75, but dies of something else while it does so
// in the first two attempts, on all ranks.
func farewellMain() error {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	return aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		if z.Epoch() == 0 {
			if err := comm.Barrier(ctx, z.Comm()); err != nil {
				return err
			}
			if z.Original() == 0 {
				root, _ := strconv.Atoi(os.Getenv(rootVariable))
				_ = syscall.Kill(root, syscall.SIGTERM)
			}
		}
		select {
		case <-asked:
		case <-time.After(time.Minute):
			return errors.New("nobody has told this rank")
		}
		if z.Epoch() < 2 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		fmt.Println("saved")
		os.Exit(75)
		return nil
	})
}

// A request to end reaches those who are started when all who knew of it have failed.
func TestAllFailAfterARequestToEnd(t *testing.T) {
	t.Setenv(rootVariable, strconv.Itoa(os.Getpid()))
	testtime.Within(t, 20*time.Second, func() {
		stdout, stderr, code := launched(t, comm.Policy{Spawn: comm.Reuse}, t.TempDir(), "farewell")
		require.Equal(t, 75, code, stderr)
		require.Contains(t, stdout, "saved\n")
	})
}
