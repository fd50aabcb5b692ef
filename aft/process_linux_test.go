package aft_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
)

// This program is its own daemon and its own rank.
func TestMain(m *testing.M) {
	if code, ok := launch.Daemon(); ok {
		os.Exit(code)
	}
	if launch.IsRank() {
		if err := rankMain(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// rankMain is two zones: the task, with deaths such as "2@7" (original rank 2 in
// iteration 7, once per job), and a last word.
func rankMain(dir, mode string, deaths []string) error {
	k := &sumTask{dir: dir, mode: mode, done: func(r comm.Rank, total float64) {
		if r == 0 {
			fmt.Printf("%.0f\n", total)
		}
	}}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	err := aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		k.deaths = func(iter int) {
			for _, d := range deaths {
				switch d {
				case fmt.Sprintf("%d@%d", z.Original(), iter):
					killMyself(filepath.Join(dir, "killed-"+d))
				case fmt.Sprintf("panic-%d@%d", z.Original(), iter):
					if z.Epoch() == 0 {
						panic("a bug in the program")
					}
				case fmt.Sprintf("goexit-%d@%d", z.Original(), iter):
					if z.Epoch() == 0 {
						runtime.Goexit()
					}
				case fmt.Sprintf("always-%d@%d", z.Original(), iter):
					killMyself(filepath.Join(dir, fmt.Sprint("killed-", os.Getpid())))
				}
			}
		}
		if err := k.body(ctx, z); err != nil {
			return err
		}
		for _, d := range deaths {
			if d == fmt.Sprintf("%d@end", z.Original()) { // the others have finished, or will soon
				killMyself(filepath.Join(dir, "killed-"+d))
			}
			if d == fmt.Sprintf("%d@error", z.Original()) {
				return errOwn
			}
		}
		return nil
	}, aft.WithLogger(logger))
	if err != nil {
		return err
	}
	return aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		z.Step(z.Epoch()) // less than in the first zone
		if slices.Contains(deaths, fmt.Sprintf("%d@later", z.Original())) && z.Epoch() < 4 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		sum, err := comm.AllreduceOne(ctx, z.Comm(), 1, comm.Sum[int])
		if err == nil && z.Comm().Rank() == 0 {
			fmt.Printf("%d ranks, %d recoveries\n", sum, z.Epoch())
		}
		return err
	}, aft.WithLogger(logger))
}

// killMyself is once per marker.
func killMyself(marker string) {
	f, err := os.OpenFile(marker, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	_ = f.Close()
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// launched runs the program as a job.
func launched(t *testing.T, policy comm.Policy, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	var out, report bytes.Buffer
	code, err = launch.Run(ctx, launch.Config{
		Program: program, Args: args, Ranks: 4, Nodes: 2, Policy: policy, Stdout: &out, Stderr: &report, NoSignals: true,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	require.NoError(t, ctx.Err(), &report)
	if err != nil {
		require.NotZero(t, code)
		fmt.Fprintln(&report, err)
	}
	return out.String(), report.String(), code
}

func TestProcessesInAZone(t *testing.T) {
	want := fmt.Sprintf("%.0f\n", undisturbed())
	for _, c := range []struct {
		mode     string
		recovery comm.Recovery
		deaths   string
		end      string
	}{
		{"off", comm.NonShrinking, "", "4 ranks, 0 recoveries"},
		{"off", comm.NonShrinking, "2@7", "4 ranks, 1 recoveries"},
		{"copy", comm.NonShrinking, "0@11 3@12", "4 ranks, 2 recoveries"},
		{"zero-copy", comm.Shrinking, "0@9", "3 ranks, 1 recoveries"},
		{"copy", comm.Shrinking, "0@0 1@13 2@25", "1 ranks, 3 recoveries"},
		{"off", comm.NonShrinking, "1@end", "4 ranks, 1 recoveries"},
		{"copy", comm.NonShrinking, "panic-1@3", "4 ranks, 1 recoveries"},
		{"copy", comm.NonShrinking, "goexit-1@3", "4 ranks, 1 recoveries"},
		{"off", comm.NonShrinking, "1@later", "4 ranks, 4 recoveries"},
	} {
		t.Run(fmt.Sprint(c.mode, " ", c.recovery, " ", c.deaths), func(t *testing.T) {
			args := append([]string{t.TempDir(), c.mode}, strings.Fields(c.deaths)...)
			stdout, stderr, code := launched(t, comm.Policy{Recovery: c.recovery, Spawn: comm.Reuse}, args...)
			require.Zero(t, code, stderr)
			lines := strings.SplitAfter(stdout, "\n")
			require.Equal(t, c.end+"\n", lines[len(lines)-2], stderr)
			for _, line := range lines[:len(lines)-2] { // a rank that had finished tells it again
				require.Equal(t, want, line)
			}
			require.GreaterOrEqual(t, len(lines), 3)
			if strings.HasPrefix(c.deaths, "panic") {
				require.Contains(t, stderr, "panic: a bug in the program")
			}
		})
	}
}

func TestErrorOfAProcess(t *testing.T) {
	_, stderr, code := launched(t, comm.Policy{}, t.TempDir(), "off", "2@error")
	require.Equal(t, 1, code)
	require.Equal(t, 4, strings.Count(stderr, "rank 2: out of luck"), stderr)
}

// The same process dies again and again at the same step: the ledger ends the job.
func TestHopelessProcess(t *testing.T) {
	_, stderr, code := launched(t, comm.Policy{}, t.TempDir(), "off", "always-1@5")
	require.Equal(t, 1, code)
	require.Equal(t, 2, strings.Count(stderr, "msg=recovered"), stderr)
	require.Contains(t, stderr, "rank 1")
	require.Contains(t, stderr, "step 5")
}
