package embedded_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/commtest"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/embedded"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/testseed"
)

// TestMain: the test binary is also the daemons and the ranks of its jobs. The
// arguments of a rank are the kind of suite and the name of a body.
func TestMain(m *testing.M) {
	if code, ok := launch.Daemon(); ok {
		os.Exit(code)
	}
	if os.Getenv(goexitVariable) != "" { // this is the main goroutine
		_ = runTyped(context.Background(), 2, func(context.Context, *comm.Comm) error { runtime.Goexit(); return nil })
		os.Exit(0)
	}
	if launch.IsRank() {
		os.Exit(runRank(os.Args[1], os.Args[2]))
	}
	// A program under the race detector waits a second at its end otherwise.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	os.Exit(m.Run())
}

func runRank(kind, name string) int {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { // it hangs: where?
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
	})()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := embedded.Join(ctx, log)
	if kind == "stalled" {
		for { // the logger's lock is taken for ever when nobody reads
			log.Error("a line of the program")
		}
	}
	if err == nil {
		err = runBody(ctx, kind, name, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return commtest.ExitCode(err)
}

func runBody(ctx context.Context, kind, name string, s driver.Session) error {
	defer s.Close(ctx)
	place := s.Place()
	if kind == "idle" {
		return waitIdly(ctx, comm.New(place.Comm))
	}
	if kind == "calls" {
		return countCalls(ctx, s, name)
	}
	if kind == "plain" {
		seed, err := strconv.ParseUint(name, 10, 64)
		if err != nil {
			return err
		}
		return commtest.RunHere(ctx, place.Comm, seed)
	}
	body, err := commtest.Body(name)
	if err != nil {
		return err
	}
	f := &signals{replacement: place.Replacement}
	if err := f.exchange(ctx, place); err != nil {
		return err
	}
	return body(ctx, place.Comm, f)
}

// signals kills processes of this machine by their numbers.
type signals struct {
	replacement bool
	dir         string
}

// exchange notes this process's number where the others find it, in a file of
// its original rank, which a replacement writes anew.
func (f *signals) exchange(ctx context.Context, place driver.Place) error {
	f.dir = os.Getenv("CRAFT_TEST_PIDS")
	name := f.file(place.Original)
	if err := os.WriteFile(name+".new", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	if err := os.Rename(name+".new", name); err != nil {
		return err
	}
	if place.Replacement {
		return nil
	}
	// Not a barrier: the first that has passed it may die at once.
	_, err := place.Comm.(driver.Agreer).Agree(1).Wait(ctx)
	return err
}

func (f *signals) file(r int) string { return fmt.Sprintf("%s/%d", f.dir, r) }

func (f *signals) Die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (f *signals) Kill(r int) {
	text, err := os.ReadFile(f.file(r))
	if err != nil {
		panic(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		panic(err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func (f *signals) Replacement() bool { return f.replacement }

// launchProcesses runs a body on n processes of this test binary.
func launchProcesses(t *testing.T, nodes, n int, kind, name string) {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), patience+time.Minute)
	defer cancel()
	code, err := launch.Run(ctx, launch.Config{
		Program: os.Args[0], Args: []string{kind, name}, Ranks: n, Nodes: min(nodes, n),
		Stdout: &out, Stderr: &out, TagOutput: true, NoSignals: true, Repeats: 1000,
		Env:    []string{"CRAFT_TEST_PIDS=" + t.TempDir()},
		Timing: launch.Timing{Lease: time.Minute},
	})
	switch {
	case strings.Contains(out.String(), commtest.ErrSkip.Error()) && code == commtest.SkipCode:
		t.Skip(out.String())
	case out.Len() > 0 || code != 0 && !onlyKilled(err):
		t.Errorf("exit code %d, error %v\n%s", code, err, out.String())
	}
}

// onlyKilled: the report of the job names only ranks that the suite has killed.
func onlyKilled(err error) bool {
	if err == nil {
		return false
	}
	for line := range strings.Lines(err.Error()) {
		if !strings.Contains(line, "signal: killed") && !strings.Contains(line, "more") {
			return false
		}
	}
	return true
}

func TestProcesses(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed of the traffic %d", seed)
	sizes := []int{2, 3, 8} // what differs between them is the collectives' and not the wire's
	if everyCase() {
		sizes = []int{1, 2, 3, 4, 5, 7, 8, 16}
	}
	for _, n := range sizes {
		t.Run(fmt.Sprintf("ranks=%d", n), func(t *testing.T) {
			launchProcesses(t, 2, n, "plain", strconv.FormatUint(seed, 10))
		})
	}
}

// everyCase reports whether processes have all cases that ranks that are goroutines always have.
func everyCase() bool { return os.Getenv("CRAFT_TEST_SECONDS") != "" }

func TestProcessFailures(t *testing.T) {
	rng := testseed.Rand(t)
	commtest.RunFailures(t, func(t *testing.T, n int, name string, _ commtest.FaultyBody) {
		// What the wire has to do is the same in most of them but for those about single messages;
		// ranks that are goroutines have all of them, with -short, too.
		if testing.Short() && (n > 4 || rng.IntN(3) > 0) {
			t.Skip("short")
		}
		always := testing.Short() || everyCase() || strings.HasPrefix(name, "message/") || strings.HasPrefix(name, "soak")
		if !always && rng.IntN(3) > 0 {
			t.Skip("a third of them in each run: CRAFT_TEST_SECONDS has all")
		}
		launchProcesses(t, 2, n, "faulty", name)
	})
	require.False(t, t.Failed())
}

// TestRankThroughAnotherLauncher: what mpirun starts in a rank inherits that it is one,
// and not the connection. It says what is wrong.
func TestRankThroughAnotherLauncher(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `exec "$0" world none 3</dev/null`, os.Args[0])
	cmd.Env = append(os.Environ(), "CRAFT_ROLE=rank")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "CRAFT_ROLE=rank says that it is one: craft run must start the program itself, not through mpirun or srun")
}
