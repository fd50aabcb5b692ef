package aft_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/stepwise"
	"github.com/craft-go/craft/internal/testsignal"
	"github.com/craft-go/craft/internal/testtime"
)

// This program is its own daemon and its own rank.
func TestMain(m *testing.M) {
	if code, ok := launch.Daemon(); ok {
		os.Exit(code)
	}
	if os.Getenv(childVariable) != "" {
		os.Exit(childMain())
	}
	if launch.IsRank() {
		if err := rankMain(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testsignal.Restore()
	os.Exit(m.Run())
}

// rankMain is two zones: the task, with deaths such as "2@7" (original rank 2 in
// iteration 7, once per job), and a last word.
func rankMain(dir, mode string, deaths []string) error {
	if slices.Contains(deaths, "child@start") {
		if err := runChild(); err != nil { // before this process has joined
			return err
		}
	}
	if os.Getenv(rootVariable) != "" {
		signal.Ignore(syscall.SIGHUP)
	}
	switch mode {
	case "compute":
		return computeMain(dir)
	case "messages":
		return messagesMain()
	case "behind":
		return behindMain()
	case "kept":
		return keptMain()
	case "recurring":
		return recurringMain(dir, deaths)
	case "stuck":
		return stuckMain(dir, deaths[0])
	case "spare":
		return spareMain(dir)
	case "farewell":
		return farewellMain()
	case "other-way":
		return otherWayMain()
	case "stubborn", "stubborn-all":
		return stubbornMain(dir, mode == "stubborn-all")
	}
	k := &sumTask{dir: dir, mode: checkpoint.AsyncMode(mode), done: func(r comm.Rank, total float64) {
		if r == 0 {
			fmt.Printf("%.0f\n", total)
		}
	}}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	err := aft.Run(context.Background(), func(ctx context.Context, z *aft.Zone) error {
		stepwise.Begin(z)
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
				case fmt.Sprintf("hangup-%d@%d", z.Original(), iter): // the others ignore it
					if z.Epoch() == 0 {
						hangUpRoot()
						panic("a bug behind a signal")
					}
				case fmt.Sprintf("child-%d@%d", z.Original(), iter):
					if err := runChild(); err != nil {
						panic(err)
					}
				case fmt.Sprintf("turns-%d@%d", z.Epoch()%4, iter): // another rank and cause each time
					if z.Comm().Rank() == comm.Rank(z.Epoch()%4) {
						os.Exit(10 + z.Epoch())
					}
				case fmt.Sprintf("always-%d@%d", z.Original(), iter):
					killMyself(filepath.Join(dir, fmt.Sprint("killed-", os.Getpid())))
				}
			}
		}
		if len(deaths) == 1 && strings.HasPrefix(deaths[0], "returned ") {
			return waitForReturned(ctx, z, strings.TrimPrefix(deaths[0], "returned "))
		}
		if err := k.body(ctx, z); err != nil {
			if slices.Contains(deaths, "own repair") && z.Epoch() == 0 {
				return errors.Join(err, ownRepair(ctx, z))
			}
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
		if slices.Contains(deaths, "all-exit@later") && z.Epoch() == 0 {
			_ = comm.Barrier(ctx, z.Comm()) // all are in it
			os.Exit(0)
		}
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

// ownRepair is what a program without a zone would do about the loss of rank 1.
func ownRepair(ctx context.Context, z *aft.Zone) error {
	ctx = context.WithoutCancel(ctx)
	_ = z.Comm().Revoke() // all come
	survivors, err := z.Comm().Shrink(ctx)
	if err != nil {
		return err
	}
	_, err = survivors.Spawn(ctx, []comm.OriginalRank{1})
	fmt.Fprintln(os.Stderr, "spawn says:", err)
	return err
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

// rootVariable has the number of the root's process.
const rootVariable = "CRAFT_TEST_ROOT"

// childVariable makes this program a job of its own, in one process, that a rank has
// started.
const childVariable = "CRAFT_TEST_CHILD"

func childMain() int {
	third, _ := os.Readlink("/proc/self/fd/3") // may be this process's own
	err := aft.Run(context.Background(), func(_ context.Context, z *aft.Zone) error {
		fmt.Println("child of", z.Comm().Size(), launch.IsRank(), strings.HasPrefix(third, "socket:"))
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func runChild() error {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"=1")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	return child.Run()
}

// hangUpRoot returns when the root has forwarded a SIGHUP to this rank.
func hangUpRoot() {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGHUP)
	root, _ := strconv.Atoi(os.Getenv(rootVariable))
	_ = syscall.Kill(root, syscall.SIGHUP)
	<-got
}

// launched runs the program as a job.
func launched(t *testing.T, policy comm.Policy, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	return launchedWith(t, launch.Config{Program: program, Args: args, Policy: policy})
}

func launchedWith(t *testing.T, cfg launch.Config) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	var out, report bytes.Buffer
	cfg.Ranks, cfg.Nodes, cfg.Stdout, cfg.Stderr, cfg.NoSignals = 4, 2, &out, &report, os.Getenv(rootVariable) == ""
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	code, err := launch.Run(ctx, cfg)
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
		{"off", comm.GlobalRestart, "2@7", "4 ranks, 1 recoveries"},
		{"copy", comm.GlobalRestart, "2@7 1@9 0@9", "4 ranks, 2 recoveries"},
		{"copy", comm.NonShrinking, "0@11 3@12", "4 ranks, 2 recoveries"},
		{"zero-copy", comm.Shrinking, "0@9", "3 ranks, 1 recoveries"},
		{"copy", comm.Shrinking, "0@0 1@13 2@25", "1 ranks, 3 recoveries"},
		{"off", comm.NonShrinking, "1@end", "4 ranks, 1 recoveries"},
		{"copy", comm.NonShrinking, "panic-1@3", "4 ranks, 1 recoveries"},
		{"copy", comm.NonShrinking, "goexit-1@3", "4 ranks, 1 recoveries"},
		{"off", comm.NonShrinking, "1@later", "4 ranks, 4 recoveries"},
		{"off", comm.NonShrinking, "all-exit@later", "4 ranks, 1 recoveries"},
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

// TestStepwise: the zone recovers as well behind the calls of ULFM one after the other.
func TestStepwise(t *testing.T) {
	t.Setenv(stepwise.Variable, "1")
	program, err := os.Executable()
	require.NoError(t, err)
	var log bytes.Buffer
	stdout, stderr, code := launchedWith(t, launch.Config{
		Program: program, Args: []string{t.TempDir(), "off", "2@7", "1@9", "0@9"}, Policy: comm.Policy{Spawn: comm.Reuse}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.Zero(t, code, stderr)
	require.Contains(t, log.String(), "has called Shrink after a failure")
	require.Contains(t, stdout, "4 ranks, 2 recoveries\n")
	require.Contains(t, stdout, fmt.Sprintf("%.0f\n", undisturbed()))
}

func TestErrorOfAProcess(t *testing.T) {
	_, stderr, code := launched(t, comm.Policy{}, t.TempDir(), "off", "2@error")
	require.Equal(t, 1, code)
	require.Equal(t, 4, strings.Count(stderr, "rank 2: out of luck"), stderr)
}

// Shrink and Spawn in the body of a zone: the new process would be in a zone of its own.
func TestOwnRepairInAZone(t *testing.T) {
	stdout, stderr, code := launched(t, comm.Policy{}, t.TempDir(), "off", "1@7", "own repair")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "call Zone.Repair")
	require.Contains(t, stdout, "4 ranks, 1 recoveries\n")
}

// A program that a rank starts is no rank: it does not take its place.
func TestChildOfARank(t *testing.T) {
	stdout, stderr, code := launched(t, comm.Policy{}, t.TempDir(), "off", "child-1@3", "child@start")
	require.Zero(t, code, stderr)
	require.Equal(t, 4+1, strings.Count(stdout, "child of 1 false false\n"), stdout)
	require.Contains(t, stdout, "4 ranks, 0 recoveries\n")
}

// A signal that asks for the end and is ignored makes no exit of a later panic.
func TestPanicAfterAnIgnoredSignal(t *testing.T) {
	t.Setenv(rootVariable, strconv.Itoa(os.Getpid()))
	testtime.Within(t, 25*time.Second, func() { // nobody waits for the others to end
		stdout, stderr, code := launched(t, comm.Policy{Spawn: comm.Reuse}, t.TempDir(), "off", "hangup-1@3")
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, "4 ranks, 1 recoveries\n")
		require.Contains(t, stderr, "exit status 2 (panic: a bug behind a signal)")
	})
}

// The same process dies again and again at the same step: the ledger ends the job.
func TestHopelessProcess(t *testing.T) {
	_, stderr, code := launched(t, comm.Policy{}, t.TempDir(), "off", "always-1@5")
	require.Equal(t, 1, code)
	require.Equal(t, 2, strings.Count(stderr, "msg=recovered"), stderr)
	require.Equal(t, 2, strings.Count(stderr, `losses="rank 1 on node`), stderr)
	require.Contains(t, stderr, "step 5")
}

// Causes and ranks alternate, and the job does not get on.
func TestHopelessJob(t *testing.T) {
	_, stderr, code := launched(t, comm.Policy{}, t.TempDir(), "off", "turns-0@5", "turns-1@5", "turns-2@5", "turns-3@5")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "ranks have failed 10 times and the job did not get beyond step 5")
	require.Contains(t, stderr, "10. rank 1, process 9 on node 0: exit status 19")
}
