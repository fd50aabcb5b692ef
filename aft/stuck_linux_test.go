package aft_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/testtime"
)

// stuckWays are how a body can be in the way of a roll-back, for longer than any test.
var stuckWays = map[string]func(ctx context.Context, z *aft.Zone){
	"loop":    func(context.Context, *aft.Zone) { spinForEver() },
	"sleep":   func(context.Context, *aft.Zone) { time.Sleep(time.Hour) },
	"channel": func(context.Context, *aft.Zone) { full := make(chan int); full <- 1 },
	"system call": func(context.Context, *aft.Zone) {
		var fds [2]int
		_ = syscall.Pipe(fds[:])
		_, _ = syscall.Read(fds[0], make([]byte, 1))
	},
	"locked thread": func(context.Context, *aft.Zone) { runtime.LockOSThread(); spinForEver() },
	"goroutine": func(ctx context.Context, z *aft.Zone) {
		z.Go(func(context.Context) error { spinForEver(); return nil })
		<-ctx.Done()
	},
	// These look.
	"receive": func(ctx context.Context, z *aft.Zone) { _, _, _ = comm.Recv(ctx, z.Comm(), 3, 0, make([]int, 1)) },
	"background": func(_ context.Context, z *aft.Zone) {
		_, _, _ = comm.Recv(context.Background(), z.Comm(), 3, 0, make([]int, 1))
	},
	"derived": func(context.Context, *aft.Zone) {
		_, _, _ = comm.Recv(context.Background(), derived, 3, 0, make([]int, 1))
	},
	"collective": func(_ context.Context, z *aft.Zone) { _ = comm.Barrier(context.Background(), z.Comm()) },
	"agree":      func(ctx context.Context, z *aft.Zone) { _, _ = z.Comm().Agree(ctx, 1) },
	"context":    func(ctx context.Context, _ *aft.Zone) { <-ctx.Done() },
}

// derived is made from the world of stuckMain.
var derived *comm.Comm

func spinForEver() {
	for n := 0; ; n++ {
		if n < 0 {
			fmt.Println(n)
		}
	}
}

// stuckMain: rank 1 dies, rank 2 is stuck, and the others wait for one that will never come.
func stuckMain(dir, way string) error {
	return aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		if z.Epoch() > 0 {
			fmt.Println(z.Original(), z.Replacement())
			return nil
		}
		var err error
		if derived, err = z.Comm().Split(ctx, 0, int(z.Comm().Rank())); err != nil {
			return err
		}
		if _, err := z.Comm().Agree(ctx, 1); err != nil {
			return err
		}
		switch z.Original() {
		case 1:
			killMyself(filepath.Join(dir, "killed"))
		case 2:
			stuckWays[way](ctx, z)
			return errors.New("it was rolled back")
		}
		_, _, err = comm.Recv(context.Background(), derived, 3-z.Comm().Rank(), 0, make([]int, 1))
		return err
	}, aft.WithLogger(slog.New(slog.DiscardHandler)))
}

// TestStuckBodies: a body that looks at its context, or is in an operation of a communicator, is rolled back; the
// process of any other one is replaced after the grace, and the log says where it was.
func TestStuckBodies(t *testing.T) {
	looks := map[string]bool{"receive": true, "background": true, "derived": true, "collective": true, "agree": true, "context": true}
	t.Setenv(delayVariable, "1h")
	for way := range stuckWays {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr string
			var code int
			var log bytes.Buffer // of one who writes at a time, until the job has ended
			testtime.Within(t, 50*time.Second, func() {
				stdout, stderr, code = launchedWith(t, launch.Config{
					Program: os.Args[0], Args: []string{t.TempDir(), "stuck", way}, Policy: comm.Policy{Recovery: comm.GlobalRestart},
					Logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
			})
			require.Zero(t, code, stderr)
			for r := range 4 {
				require.Contains(t, stdout, fmt.Sprintf("%d %v\n", r, r == 1 || r == 2 && !looks[way]))
			}
			if !looks[way] {
				require.Regexp(t, `a process has failed" rank=2 .*the body did not end when it was rolled back within 1s \(CRAFT_RECOVERY_GRACE\)`, log.String())
				require.Regexp(t, `where it is: .*aft_test\.(stuckMain|spinForEver|init)`, log.String())
			}
		})
	}
}

// TestGraceOfNothing: who has not ended when the roll-back comes is replaced at once.
func TestGraceOfNothing(t *testing.T) {
	t.Setenv("CRAFT_RECOVERY_GRACE", "0")
	stdout, stderr, code := launched(t, comm.Policy{Recovery: comm.GlobalRestart}, t.TempDir(), "stuck", "loop")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "2 true\n")
}

// TestOptionsOfARollBack: what cannot be meant is refused.
func TestOptionsOfARollBack(t *testing.T) {
	for variable, value := range map[string]string{"CRAFT_RECOVERY_GRACE": "-1s", delayVariable: "never"} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, value)
			err := aft.Run(t.Context(), func(context.Context, *aft.Zone) error { return nil }, aft.WithRecovery(comm.GlobalRestart))
			require.ErrorContains(t, err, variable)
		})
	}
	require.ErrorIs(t, aft.Run(t.Context(), func(context.Context, *aft.Zone) error { return nil },
		aft.WithSynchronous(), aft.WithCancelOnFailure()), aft.ErrArgument)
}
