package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { testprogram.Main(m, main) }

// program is the program in a working directory of its own.
type program struct{ *testprogram.Program }

func newProgram(t *testing.T) *program { return &program{testprogram.New(t)} }

// result runs it with -json and wants success and one line of JSON.
func (p *program) result(args ...string) (r result) {
	p.T.Helper()
	p.JSON(&r, append(args, "-json")...)
	return r
}

func small(more ...string) []string {
	return append(strings.Fields("-nx 60 -ny 50 -disorder 0.3 -seed 4 -iters 300 -cp-freq 20 -cp-path cp"), more...)
}

func TestKilledAndRestarted(t *testing.T) {
	want := newProgram(t).result(small()...)
	require.Equal(t, 300, want.Iterations)
	require.Equal(t, -1, want.RestartedFrom)
	require.Equal(t, 15+1, want.VersionsWritten, "and one that says that the run is finished")
	require.Greater(t, want.BytesWritten, int64(15*2*6000*8))
	require.Zero(t, want.Recoveries)
	require.Positive(t, want.Overheads.Checkpoint)

	p := newProgram(t)
	p.Start(small("-die-at", "137")...).End(-int(syscall.SIGKILL))
	records, err := filestore.Records(vfs.OS(), filepath.Join(p.Dir, "cp", "lanczos"))
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.Equal(t, 7, records[0].VersionsWritten)
	require.Nil(t, records[0].Ended)
	got := p.result(small("-die-at", "137")...)
	require.Equal(t, want.Digest, got.Digest)
	require.Equal(t, want.Eigenvalues, got.Eigenvalues)
	require.Equal(t, 300, got.Iterations)
	require.Equal(t, 121, got.RestartedFrom)
	require.Equal(t, 8+1, got.VersionsWritten)
	require.Positive(t, got.Overheads.Restart)
	require.Positive(t, got.Overheads.Recomputation)

	t.Run("again", func(t *testing.T) {
		p.T = t
		again := p.result(small()...)
		require.Equal(t, 300, again.RestartedFrom)
		require.Zero(t, again.VersionsWritten)
		require.Equal(t, want.Digest, again.Digest)
	})
	t.Run("with fewer iterations", func(t *testing.T) {
		p.T = t
		fewer := p.result(small("-iters", "130")...)
		require.Equal(t, newProgram(t).result(small("-iters", "130")...).Digest, fewer.Digest)
		require.Equal(t, 130, fewer.Iterations)
	})
	t.Run("on more ranks", func(t *testing.T) {
		p.T = t
		more := p.result(small("-ranks", "3")...)
		require.Equal(t, 300, more.RestartedFrom)
		require.InDeltaSlice(t, want.Eigenvalues, more.Eigenvalues, 1e-10)
	})
	t.Run("another problem", func(t *testing.T) {
		p.T = t
		s := p.Start(small("-seed", "5")...).End(1)
		require.Contains(t, s.Stderr.String(), "seed")
		require.Contains(t, s.Stderr.String(), "-cp-path")
		require.Empty(t, s.Stdout.String())
	})
	t.Run("fresh, and killed once more", func(t *testing.T) {
		p.T = t
		p.Start(small("-fresh", "-die-at", "137")...).End(-int(syscall.SIGKILL))
		got := p.result(small("-die-at", "137")...)
		require.Equal(t, 121, got.RestartedFrom)
		require.Equal(t, want.Digest, got.Digest)
	})
}

func TestKilledOnSeveralRanks(t *testing.T) {
	want := newProgram(t).result(small("-ranks", "3")...)
	require.InDeltaSlice(t, newProgram(t).result(small()...).Eigenvalues, want.Eigenvalues, 1e-10)
	p := newProgram(t)
	p.Start(small("-ranks", "3", "-die-at", "137")...).End(-int(syscall.SIGKILL))
	got := p.result(small("-ranks", "3", "-die-at", "137")...)
	require.Equal(t, 121, got.RestartedFrom)
	require.Equal(t, want.Digest, got.Digest)
}

// TestDiesBeforeTheCheckpointOfTheSameIteration, as the contract says.
func TestDiesBeforeTheCheckpointOfTheSameIteration(t *testing.T) {
	p := newProgram(t)
	p.Start(small("-die-at", "140", "-ranks", "2")...).End(-int(syscall.SIGKILL))
	require.Equal(t, 121, p.result(small("-die-at", "140")...).RestartedFrom)
}

func TestDigestDoesNotDependOnCores(t *testing.T) {
	var digests []string
	for _, cores := range []string{"1", "2", "5"} {
		p := newProgram(t)
		p.Env = []string{"GOMAXPROCS=" + cores}
		digests = append(digests, p.result("-nx", "90", "-ny", "90", "-iters", "60", "-cp-freq", "0").Digest)
	}
	require.Equal(t, digests[0], digests[1])
	require.Equal(t, digests[0], digests[2])
}

// endCode is the exit code of a job that was asked to end by a signal.
func endCode(sig syscall.Signal) int {
	if sig == syscall.SIGINT {
		return checkpoint.ExitInterrupt
	}
	return checkpoint.ExitRequeue
}

func TestSignalSavesAndEnds(t *testing.T) {
	for i, mode := range jobs.Modes {
		sig := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[i%2]
		p := newProgram(t)
		endless := strings.Fields("-nx 20 -ny 20 -disorder 1 -iters 100000000 -cp-freq 90000000 -cp-path cp -ranks 2 -async " + string(mode))
		s := p.Start(endless...)
		// In the asynchronous modes the note about the latest version comes late.
		p.Eventually(func() bool {
			versions, err := filepath.Glob(filepath.Join(p.Dir, "cp", "lanczos", "v-*", "rank-*"))
			return err == nil && len(versions) == 2
		})
		require.NoError(t, s.Cmd.Process.Signal(sig))
		s.End(endCode(sig))
		require.Equal(t, 1, strings.Count(s.Stderr.String(), "is stored; start it again"), s.Stderr.String())
		require.Empty(t, s.Stdout.String())
		last := regexp.MustCompile(`of iteration (\d+), is stored`).FindStringSubmatch(s.Stderr.String())
		require.NotNil(t, last, s.Stderr.String())
		got := p.result(append(endless, "-iters", "1")...)
		require.Equal(t, last[1], strconv.Itoa(got.RestartedFrom-1))
	}
}

// TestImpatientInterrupt: who presses Ctrl-C once more, a second later, does not wait for the end of what goes on.
func TestImpatientInterrupt(t *testing.T) {
	p := newProgram(t)
	pipe := filepath.Join(p.Dir, "matrix.mtx")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	s := p.Start("-mtx", "matrix.mtx", "-cp-path", "cp") // which nobody writes
	var writer *os.File
	p.Eventually(func() (open bool) { // when it reads
		var err error
		writer, err = os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	defer writer.Close()
	require.NoError(t, s.Cmd.Process.Signal(syscall.SIGINT))
	time.Sleep(1100 * time.Millisecond) // sooner it would be the same request
	_, err := writer.WriteString("%")
	require.NoError(t, err, "it goes on reading")
	require.NoError(t, s.Cmd.Process.Signal(syscall.SIGINT))
	s.End(-int(syscall.SIGINT))
}

// TestSignalEndsTheReaderToo: tee gets Ctrl-C as the program does.
func TestSignalEndsTheReaderToo(t *testing.T) {
	p := newProgram(t)
	s := p.Command(strings.Fields("-nx 20 -ny 20 -iters 100000000 -cp-freq 90000000 -cp-path cp")...)
	reader, out, err := os.Pipe()
	require.NoError(t, err)
	s.Cmd.Stdout, s.Cmd.Stderr = out, out
	require.NoError(t, s.Cmd.Start())
	require.NoError(t, out.Close())
	p.Eventually(func() bool {
		versions, err := filepath.Glob(filepath.Join(p.Dir, "cp", "lanczos", "v-*", "rank-*"))
		return err == nil && len(versions) == 1
	})
	require.NoError(t, s.Cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, reader.Close())
	s.End(checkpoint.ExitInterrupt)
}

func TestTolerance(t *testing.T) {
	args := strings.Fields("-nx 30 -ny 20 -iters 5000 -tol 1e-10 -eigs 3 -cp-freq 50 -cp-path cp")
	p := newProgram(t)
	p.Start(append(args, "-die-at", "120")...).End(-int(syscall.SIGKILL))
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
		s := p.Start("-mtx", filepath.Join(absolute, "random40.mtx.gz"), "-ranks", ranks, "-iters", "100").End(0)
		require.Contains(t, s.Stdout.String(), "lowest eigenvalues")
		require.NotContains(t, s.Stdout.String(), "exact")
	}
	p := newProgram(t)
	bad := filepath.Join(p.Dir, "bad.mtx")
	require.NoError(t, os.WriteFile(bad, []byte("%%MatrixMarket matrix coordinate complex general\n1 1 0\n"), 0o666))
	s := p.Start("-mtx", "bad.mtx", "-ranks", "2").End(1)
	require.Contains(t, s.Stderr.String(), "bad.mtx: line 1")
	require.Contains(t, s.Stderr.String(), "complex")
}

func TestTableShowsTheExactEigenvalues(t *testing.T) {
	s := newProgram(t).Start("-nx", "12", "-ny", "9", "-iters", "300").End(0)
	require.Contains(t, s.Stdout.String(), "exact")
	require.Contains(t, s.Stdout.String(), "-3.000000000000")
	require.Empty(t, s.Stderr.String(), "quiet unless it is a terminal")
}

func TestCheckpointsThatCannotBeWritten(t *testing.T) {
	p := newProgram(t)
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "cp"), nil, 0o666))
	s := p.Start(small()...).End(1)
	require.Contains(t, s.Stderr.String(), "cp")
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-no-such-flag"}, {"positional"}, {"-nx", "0"}, {"-nx", "x"}, {"-iters", "0"}, {"-eigs", "0"}, {"-tol", "-1"},
		{"-tol", "NaN"}, {"-ranks", "0"}, {"-cp-freq", "-1"}, {"-die-at", "-2"}, {"-disorder", "-1"}, {"-async", "on"}, {"-mtx", "f", "-nx", "3"},
		{"-np", "0"}, {"-np", "-1"}, {"-np", "5000"}, {"-ranks", "2", "-np", "2"}, {"-nodes", "2"}, {"-nodes", "0", "-np", "2"},
		{"-spare-nodes", "1"}, {"-spare-nodes", "-1", "-np", "2"}, {"-recovery", "SHRINKING"}, {"-recovery", "shrink", "-np", "2"},
		{"-spawn", "REUSE"}, {"-spawn", "yes", "-np", "2"},
		{"-kill", "0@5"}, {"-kill", "0@5", "-ranks", "2"}, {"-kill", "2@5", "-np", "2"}, {"-kill", "0", "-np", "2"}, {"-kill", "0@5,", "-np", "2"},
		{"-kill-node", "0@5"}, {"-kill-node", "1@5", "-np", "2"}, {"-kill-node", "x@5", "-np", "2"},
	} {
		s := newProgram(t).Start(args...).End(2)
		require.Contains(t, s.Stderr.String(), strings.TrimPrefix(args[0], "-"))
		require.Empty(t, s.Stdout.String())
	}
	s := newProgram(t).Start("-help").End(0)
	for _, flag := range strings.Fields("nx ny disorder seed mtx iters tol eigs ranks cp-freq cp-path fresh async levels node-path json die-at np nodes spare-nodes recovery spawn kill kill-node") {
		require.Regexp(t, `(?m)^  -`+flag+`( |$)`, s.Stderr.String())
	}
}

func TestEnvironmentNamesThePath(t *testing.T) {
	p := newProgram(t)
	p.Env = []string{"CRAFT_CP_PATH=elsewhere"}
	p.result("-nx", "5", "-ny", "5", "-disorder", "1", "-iters", "30")
	require.DirExists(t, filepath.Join(p.Dir, "elsewhere", "lanczos"))
	p.Env = nil
	p.result("-nx", "5", "-ny", "5", "-disorder", "1", "-iters", "30")
	require.DirExists(t, filepath.Join(p.Dir, "lanczos-checkpoints", "graphene-5x5-disorder1-seed1", "lanczos"))
}
