package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/craft-go/craft/examples/internal/killtest"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { testprogram.Main(m, main) }

func newProgram(t *testing.T) killtest.Program[result] { return killtest.NewProgram[result](t) }

// small has the same grid on any number of ranks, in each iteration a checkpoint, and at its end
// a residual that is far from nothing.
func small(more ...string) []string {
	return append(strings.Fields("-nx 9 -ny 7 -planes 16 -iters 25 -cp-path cp"), more...)
}

// same wants the bits of another run.
func same(t *testing.T, want, got result) {
	t.Helper()
	require.Equal(t, want.Digest, got.Digest)
	require.Equal(t, want.Residual, got.Residual)
	require.Equal(t, want.TrueResidual, got.TrueResidual)
	require.Equal(t, want.Error, got.Error)
	require.Equal(t, want.Iterations, got.Iterations)
	require.Equal(t, want.Grid, got.Grid)
}

func TestAnyNumberOfRanks(t *testing.T) {
	want := newProgram(t).Result(small()...)
	require.Equal(t, 25, want.Iterations)
	require.Equal(t, 25+1, want.VersionsWritten, "and the last one once more, which says that the run is finished")
	require.Equal(t, -1, want.RestartedFrom)
	require.InDelta(t, want.Residual, want.TrueResidual, 1e-15)
	require.Greater(t, want.Error, 1e-13, "not all digits are those of the solution yet")
	require.Less(t, want.Error, 1e-10)
	for _, how := range []string{"-ranks 2", "-ranks 3", "-ranks 5", "-ranks 8", "-ranks 20", "-np 3", "-np 4 -nodes 2"} { // 20: some have no plane
		got := newProgram(t).Result(small(strings.Fields(how)...)...)
		same(t, want, got)
		require.Zero(t, got.Recoveries)
	}
	require.NotEqual(t, want.Digest, newProgram(t).Result(small("-iters", "24")...).Digest)
	require.NotEqual(t, want.Digest, newProgram(t).Result(small("-nx", "8")...).Digest)
}

// TestStacked: each rank has its own grid, and they are one in the direction of z.
func TestStacked(t *testing.T) {
	got := newProgram(t).Result(strings.Fields("-nx 9 -ny 7 -nz 4 -iters 25 -ranks 4")...)
	same(t, newProgram(t).Result(small()...), got)
	// Of goroutines and of processes, which shrink in the middle.
	got = newProgram(t).Result(strings.Fields("-nx 9 -ny 7 -nz 4 -iters 25 -np 4 -kill 1@7,3@12 -recovery SHRINKING")...)
	same(t, newProgram(t).Result(small()...), got)
	require.Equal(t, 2, got.Ranks)
}

func TestTolerance(t *testing.T) {
	got := newProgram(t).Result(small("-iters", "1000", "-tol", "1e-9")...)
	require.LessOrEqual(t, got.Residual, 1e-9)
	require.Greater(t, got.Residual, 1e-11)
	require.InEpsilon(t, got.Residual, got.TrueResidual, 1e-3)
	require.Less(t, got.Iterations, 60)

	p := newProgram(t)
	end := p.Result(small("-iters", "100000", "-freq", "100")...)
	require.Less(t, end.Iterations, 1200, "there is nothing left of the residual")
	require.Less(t, end.Error, 1e-14)
	require.Less(t, end.TrueResidual, 1e-14)
	same(t, end, p.Result(small("-iters", "100000", "-freq", "100")...))
}

func TestRestartedOnOtherRanks(t *testing.T) {
	want := newProgram(t).Result(small()...)
	for _, mode := range []string{"off", "copy", "zero-copy"} {
		p := newProgram(t)
		p.Start(small("-ranks", "4", "-die-at", "9", "-async", mode)...).End(-int(syscall.SIGKILL))
		p.Start(small("-ranks", "7", "-die-at", "17", "-async", mode)...).End(-int(syscall.SIGKILL))
		got := p.Result(small("-np", "3", "-die-at", "9", "-async", mode)...) // once in a job
		same(t, want, got)
		require.Equal(t, 17, got.RestartedFrom, mode)
		require.Equal(t, 3, got.Ranks)
		require.Equal(t, 8+1, got.VersionsWritten)
	}

	p := newProgram(t)
	p.Start(strings.Fields("-nx 9 -ny 7 -nz 4 -ranks 4 -iters 25 -die-at 9")...).End(-int(syscall.SIGKILL))
	other := p.Result(strings.Fields("-nx 9 -ny 7 -nz 4 -ranks 3 -iters 25")...)
	require.Equal(t, 12, other.Planes, "another problem, which has another directory")
	require.Equal(t, -1, other.RestartedFrom)
	got := p.Result(strings.Fields("-nx 9 -ny 7 -planes 16 -ranks 3 -iters 25")...)
	same(t, want, got)
	require.Equal(t, 9, got.RestartedFrom)
	s := p.Start(strings.Fields("-nx 9 -ny 7 -nz 4 -ranks 3 -cp-path cg-checkpoints/9x7x16")...).End(1)
	require.Contains(t, s.Stderr.String(), "planes: stored 16, now 12")
	require.Contains(t, s.Stderr.String(), "or all of its planes with -planes")
}

// TestZeroCopy: nothing changes while it is being written.
func TestZeroCopy(t *testing.T) {
	args := strings.Fields("-nx 60 -ny 60 -planes 40 -iters 10 -async zero-copy -cp-path cp")
	for _, how := range []string{"-ranks 2", "-np 3 -recovery SHRINKING"} {
		p := newProgram(t)
		p.Env = append(p.Env, "CRAFT_ASYNC_CHECK=1")
		s := p.Start(append(args, strings.Fields(how)...)...).End(0)
		require.Empty(t, s.Stderr.String())
		require.Contains(t, s.Stdout.String(), "\n11 checkpoints in cp")
	}
}

func TestTable(t *testing.T) {
	p := newProgram(t)
	s := p.Start(small("-np", "3", "-kill", "1@5")...).End(0)
	out := s.Stdout.String()
	require.Contains(t, out, "9 x 7 x 16 points\n25 iterations on 3 ranks in ")
	require.Contains(t, out, "with 1 recovery")
	require.Contains(t, out, "largest difference from the solution")
	require.Contains(t, out, "26 checkpoints in cp,")
	require.Contains(t, s.Stderr.String(), "recovered: the next iteration is 5")
	s = p.Start(small()...).End(0)
	require.Contains(t, s.Stdout.String(), "all of them from the checkpoint")
	require.Equal(t, "restarted from the checkpoint in cp: the next iteration is 25\n", s.Stderr.String())
	left, err := filepath.Glob(filepath.Join(p.Dir, "cp", "*-killed-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestUsage(t *testing.T) {
	for _, args := range []string{
		"-no-such-flag", "positional", "-nx 0", "-ny -1", "-nz 0", "-nx 3000000000", "-planes 0", "-tol 1", "-tol NaN", "-tol -1",
		"-iters 0", "-freq 0", "-die-at -1", "-ranks 0", "-np 0", "-kill 0@5", "-kill 2@5 -np 2",
	} {
		s := newProgram(t).Start(strings.Fields(args)...).End(2)
		require.Contains(t, s.Stderr.String(), strings.TrimPrefix(strings.Fields(args)[0], "-"))
		require.Empty(t, s.Stdout.String())
	}
	s := newProgram(t).Start("-help").End(0)
	for _, flag := range strings.Fields("nx ny nz planes tol iters freq cp-path fresh kill kill-node die-at ranks np nodes spare-nodes recovery spawn async levels json") {
		require.Regexp(t, `(?m)^  -`+flag+`( |$)`, s.Stderr.String())
	}
	s = newProgram(t).Start(strings.Fields("-nx 2000000000 -ny 2000000000 -nz 2000000000")...).End(2)
	require.Contains(t, s.Stderr.String(), "in all")
	s = newProgram(t).Start(strings.Fields("-nx 1000000 -ny 1000000 -planes 1000000")...).End(1)
	require.Contains(t, s.Stderr.String(), "in all")
}
