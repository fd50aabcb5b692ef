package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// asProgram makes the test binary run as the program itself, so that tests can
// start it, kill it, and give it an environment.
const asProgram = "LANCZOS_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program is the program in a working directory of its own.
type program struct {
	t   *testing.T
	dir string
	env []string
}

func newProgram(t *testing.T) *program { return &program{t: t, dir: t.TempDir()} }

// started is a run of it, ended or not.
type started struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

func (p *program) start(args ...string) *started {
	s := &started{t: p.t, cmd: exec.CommandContext(p.t.Context(), os.Args[0], args...)}
	s.cmd.Dir = p.dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CRAFT_") {
			s.cmd.Env = append(s.cmd.Env, v)
		}
	}
	s.cmd.Env = append(append(s.cmd.Env, asProgram+"=1"), p.env...)
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	require.NoError(p.t, s.cmd.Start())
	return s
}

// end waits for the end and wants an exit code, or minus a signal.
func (s *started) end(want int) *started {
	s.t.Helper()
	code := 0
	if err := s.cmd.Wait(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(s.t, err, &exit)
		code = exit.ExitCode()
		if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
			code = -int(status.Signal())
		}
	}
	require.Equal(s.t, want, code, "%s%s", &s.stdout, &s.stderr)
	return s
}

// result runs it with -json and wants success and one line of JSON.
func (p *program) result(args ...string) result {
	p.t.Helper()
	s := p.start(append(args, "-json")...).end(0)
	require.Equal(p.t, 1, strings.Count(s.stdout.String(), "\n"))
	var r result
	d := json.NewDecoder(&s.stdout)
	d.DisallowUnknownFields()
	require.NoError(p.t, d.Decode(&r))
	return r
}

func small(more ...string) []string {
	return append(strings.Fields("-nx 60 -ny 50 -disorder 0.3 -seed 4 -iters 300 -cp-freq 20 -cp-path cp"), more...)
}

func TestKilledAndRestarted(t *testing.T) {
	want := newProgram(t).result(small()...)
	require.Equal(t, 300, want.Iterations)
	require.Equal(t, -1, want.RestartedFrom)
	require.Equal(t, 15, want.VersionsWritten)
	require.Greater(t, want.BytesWritten, int64(15*2*6000*8))
	require.Zero(t, want.Recoveries)
	require.Positive(t, want.Overheads.Checkpoint)

	p := newProgram(t)
	p.start(small("-die-at", "137")...).end(-int(syscall.SIGKILL))
	got := p.result(small("-die-at", "137")...)
	require.Equal(t, want.Digest, got.Digest)
	require.Equal(t, want.Eigenvalues, got.Eigenvalues)
	require.Equal(t, 300, got.Iterations)
	require.Equal(t, 121, got.RestartedFrom)
	require.Equal(t, 8, got.VersionsWritten)
	require.Positive(t, got.Overheads.Restart)
	require.Positive(t, got.Overheads.Recomputation)

	t.Run("again", func(t *testing.T) {
		p.t = t
		again := p.result(small()...)
		require.Equal(t, 281, again.RestartedFrom)
		require.Equal(t, want.Digest, again.Digest)
	})
	t.Run("with fewer iterations", func(t *testing.T) {
		p.t = t
		fewer := p.result(small("-iters", "130")...)
		require.Equal(t, newProgram(t).result(small("-iters", "130")...).Digest, fewer.Digest)
		require.Equal(t, 130, fewer.Iterations)
	})
	t.Run("on more ranks", func(t *testing.T) {
		p.t = t
		more := p.result(small("-ranks", "3")...)
		require.Equal(t, 281, more.RestartedFrom)
		require.InDeltaSlice(t, want.Eigenvalues, more.Eigenvalues, 1e-10)
	})
	t.Run("another problem", func(t *testing.T) {
		p.t = t
		s := p.start(small("-seed", "5")...).end(1)
		require.Contains(t, s.stderr.String(), "seed")
		require.Contains(t, s.stderr.String(), "-cp-path")
		require.Empty(t, s.stdout.String())
	})
	t.Run("fresh, and killed once more", func(t *testing.T) {
		p.t = t
		p.start(small("-fresh", "-die-at", "137")...).end(-int(syscall.SIGKILL))
		got := p.result(small("-die-at", "137")...)
		require.Equal(t, 121, got.RestartedFrom)
		require.Equal(t, want.Digest, got.Digest)
	})
}

func TestKilledOnSeveralRanks(t *testing.T) {
	want := newProgram(t).result(small("-ranks", "3")...)
	require.InDeltaSlice(t, newProgram(t).result(small()...).Eigenvalues, want.Eigenvalues, 1e-10)
	p := newProgram(t)
	p.start(small("-ranks", "3", "-die-at", "137")...).end(-int(syscall.SIGKILL))
	got := p.result(small("-ranks", "3", "-die-at", "137")...)
	require.Equal(t, 121, got.RestartedFrom)
	require.Equal(t, want.Digest, got.Digest)
}

// TestDiesBeforeTheCheckpointOfTheSameIteration, as the contract says.
func TestDiesBeforeTheCheckpointOfTheSameIteration(t *testing.T) {
	p := newProgram(t)
	p.start(small("-die-at", "140", "-ranks", "2")...).end(-int(syscall.SIGKILL))
	require.Equal(t, 121, p.result(small("-die-at", "140")...).RestartedFrom)
}

func TestDigestDoesNotDependOnCores(t *testing.T) {
	var digests []string
	for _, cores := range []string{"1", "2", "5"} {
		p := newProgram(t)
		p.env = []string{"GOMAXPROCS=" + cores}
		digests = append(digests, p.result("-nx", "90", "-ny", "90", "-iters", "60", "-cp-freq", "0").Digest)
	}
	require.Equal(t, digests[0], digests[1])
	require.Equal(t, digests[0], digests[2])
}

func TestSignalSavesAndEnds(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := newProgram(t)
		endless := strings.Fields("-nx 20 -ny 20 -disorder 1 -iters 100000000 -cp-freq 90000000 -cp-path cp -ranks 2")
		s := p.start(endless...)
		require.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(p.dir, "cp", "lanczos", "LATEST.json"))
			return err == nil
		}, 10*time.Second, time.Millisecond)
		require.NoError(t, s.cmd.Process.Signal(sig))
		s.end(128 + int(sig))
		require.Contains(t, s.stderr.String(), "saved")
		require.Empty(t, s.stdout.String())
		last := regexp.MustCompile(`after iteration (\d+)`).FindStringSubmatch(s.stderr.String())
		require.NotNil(t, last, &s.stderr)
		got := p.result(append(endless, "-iters", "1")...)
		require.Equal(t, last[1], strconv.Itoa(got.RestartedFrom-1))
	}
}

func TestTolerance(t *testing.T) {
	args := strings.Fields("-nx 30 -ny 20 -iters 5000 -tol 1e-10 -eigs 3 -cp-freq 50 -cp-path cp")
	p := newProgram(t)
	p.start(append(args, "-die-at", "120")...).end(-int(syscall.SIGKILL))
	got := p.result(append(args, "-die-at", "120")...)
	want := newProgram(t).result(args...)
	require.Less(t, want.Iterations, 1000)
	require.Equal(t, want.Iterations, got.Iterations)
	require.Equal(t, want.Digest, got.Digest)
	require.True(t, got.Converged)
	require.InDelta(t, -3, got.Eigenvalues[0], 1e-9)
}

func TestMatrixMarketFile(t *testing.T) {
	data := "matrixmarket/testdata/"
	absolute, err := filepath.Abs(data)
	require.NoError(t, err)
	for _, ranks := range []string{"1", "3"} {
		p := newProgram(t)
		got := p.result("-mtx", filepath.Join(absolute, "diagonal.mtx"), "-ranks", ranks)
		require.InDeltaSlice(t, []float64{-1, 0, 3, 12}, got.Eigenvalues, 1e-12)
		require.True(t, got.Converged)
		s := p.start("-mtx", filepath.Join(absolute, "random40.mtx.gz"), "-ranks", ranks, "-iters", "100").end(0)
		require.Contains(t, s.stdout.String(), "lowest eigenvalues")
		require.NotContains(t, s.stdout.String(), "exact")
	}
	p := newProgram(t)
	bad := filepath.Join(p.dir, "bad.mtx")
	require.NoError(t, os.WriteFile(bad, []byte("%%MatrixMarket matrix coordinate complex general\n1 1 0\n"), 0o666))
	s := p.start("-mtx", "bad.mtx", "-ranks", "2").end(1)
	require.Contains(t, s.stderr.String(), "bad.mtx: line 1")
	require.Contains(t, s.stderr.String(), "complex")
}

func TestTableShowsTheExactEigenvalues(t *testing.T) {
	s := newProgram(t).start("-nx", "12", "-ny", "9", "-iters", "300").end(0)
	require.Contains(t, s.stdout.String(), "exact")
	require.Contains(t, s.stdout.String(), "-3.000000000000")
	require.Empty(t, s.stderr.String(), "quiet unless it is a terminal")
}

func TestCheckpointsThatCannotBeWritten(t *testing.T) {
	p := newProgram(t)
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "cp"), nil, 0o666))
	s := p.start(small()...).end(1)
	require.Contains(t, s.stderr.String(), "cp")
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-no-such-flag"}, {"positional"}, {"-nx", "0"}, {"-nx", "x"}, {"-iters", "0"}, {"-eigs", "0"}, {"-tol", "-1"},
		{"-tol", "NaN"}, {"-ranks", "0"}, {"-cp-freq", "-1"}, {"-die-at", "-2"}, {"-disorder", "-1"}, {"-mtx", "f", "-nx", "3"},
	} {
		s := newProgram(t).start(args...).end(2)
		require.Contains(t, s.stderr.String(), strings.TrimPrefix(args[0], "-"))
		require.Empty(t, s.stdout.String())
	}
	s := newProgram(t).start("-help").end(0)
	for _, flag := range strings.Fields("nx ny disorder seed mtx iters tol eigs ranks cp-freq cp-path fresh json die-at") {
		require.Regexp(t, `(?m)^  -`+flag+`( |$)`, s.stderr.String())
	}
}

func TestEnvironmentNamesThePath(t *testing.T) {
	p := newProgram(t)
	p.env = []string{"CRAFT_CP_PATH=elsewhere"}
	p.result("-nx", "5", "-ny", "5", "-disorder", "1", "-iters", "30")
	require.DirExists(t, filepath.Join(p.dir, "elsewhere", "lanczos"))
	p.env = nil
	p.result("-nx", "5", "-ny", "5", "-disorder", "1", "-iters", "30")
	require.DirExists(t, filepath.Join(p.dir, "lanczos-checkpoints", "graphene-5x5-disorder1-seed1", "lanczos"))
}
