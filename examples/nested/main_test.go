package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/lanczos/graphene"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

func TestMain(m *testing.M) { testprogram.Main(m, main) }

type program struct{ *testprogram.Program }

func newProgram(t *testing.T) *program { return &program{testprogram.New(t)} }

// result runs it with -json and wants success and one line of JSON.
func (p *program) result(args ...string) (r result) {
	p.T.Helper()
	p.JSON(&r, append(args, "-json")...)
	return r
}

// small has 40 iterations in each of 5 points.
func small(more ...string) []string {
	return append(strings.Fields("-nx 24 -ny 20 -points 5 -iters 40 -inner-freq 10 -cp-path cp"), more...)
}

// TestTableI is Table I of the paper, with larger outer frequencies too: where
// the job is killed, what it has stored, and where it goes on.
func TestTableI(t *testing.T) {
	want := newProgram(t).result(small()...)
	require.Len(t, want.Results, 5)
	require.Equal(t, -1, want.RestartedFrom)
	require.Equal(t, -1, want.InnerRestartedFrom)
	require.Equal(t, 5+1, want.VersionsWritten, "and one that says that the run is finished")
	require.Equal(t, 20, want.InnerVersionsWritten)
	first := testseed.Rand(t).IntN(len(jobs.Modes)) // the stages have the modes in turn; package checkpoint's own table has all
	for i, c := range []struct {
		name      string
		frequency int
		die       place
		outer     int // -1: starts at point 0
		inner     int // -1: starts at iteration 0
	}{
		{"stage I", 1, place{0, 0}, -1, -1},
		{"stage II", 1, place{0, 15}, -1, 11},
		{"stage III", 1, place{0, 25}, -1, 21},
		{"stage IV", 1, place{1, 0}, 1, -1},
		{"stage V", 1, place{1, 15}, 1, 11},
		{"before the write of the same iteration", 1, place{3, 30}, 3, 21},
		{"after a stored point", 2, place{1, 15}, 1, 11},
		{"after one that is not stored", 2, place{2, 15}, 1, 31},
		{"two are not stored", 3, place{3, 15}, 1, 31},
		{"stored again", 3, place{4, 15}, 4, 11},
		{"never stored after the first", 10, place{4, 39}, 1, 31},
	} {
		mode := jobs.Modes[(first+i)%len(jobs.Modes)]
		t.Run(fmt.Sprint(c.name, ", ", c.frequency, ", ", mode), func(t *testing.T) {
			args := small("-outer-freq", fmt.Sprint(c.frequency), "-async", string(mode), "-die-at", fmt.Sprintf("%d:%d", c.die.outer, c.die.inner))
			p := newProgram(t)
			p.Start(args...).End(-int(syscall.SIGKILL))
			got := p.result(args...)
			require.Equal(t, c.outer, got.RestartedFrom)
			require.Equal(t, c.inner, got.InnerRestartedFrom)
			require.Equal(t, want.Digest, got.Digest)
			require.Equal(t, want.Results, got.Results)
			require.Equal(t, mode, got.Async)
			// Without a version there are still a few microseconds for the record of the run.
			if wrote := got.VersionsWritten+got.InnerVersionsWritten > 0; wrote || mode == checkpoint.AsyncOff {
				require.Equal(t, wrote && mode != checkpoint.AsyncOff, got.WriterCPU > 0)
			} else {
				require.Less(t, got.WriterCPU, 0.1)
			}
		})
	}
}

// TestSkipped: inner versions that no restart could reach are not written.
func TestSkipped(t *testing.T) {
	r := newProgram(t).result(small("-outer-freq", "2")...)
	require.Equal(t, 3+1, r.VersionsWritten)
	require.Equal(t, 3*4, r.InnerVersionsWritten, "in points 0, 1 and 3")
	require.Equal(t, 2*4, r.InnerVersionsSkipped, "in points 2 and 4")
}

func TestRanks(t *testing.T) {
	one := newProgram(t).result(small()...)
	p := newProgram(t)
	args := small("-ranks", "3", "-die-at", "2:25")
	p.Start(args...).End(-int(syscall.SIGKILL))
	got := p.result(args...)
	require.Equal(t, newProgram(t).result(small("-ranks", "3")...).Digest, got.Digest)
	require.Equal(t, 3, got.Ranks)
	for i := range one.Results {
		require.InDelta(t, one.Results[i].Lowest, got.Results[i].Lowest, 1e-10)
	}
	t.Run("another number after a kill", func(t *testing.T) {
		p := newProgram(t)
		p.Start(args...).End(-int(syscall.SIGKILL))
		got := p.result(small("-ranks", "2")...)
		require.Equal(t, 2, got.RestartedFrom)
		require.Equal(t, 21, got.InnerRestartedFrom)
		for i := range one.Results {
			require.InDelta(t, one.Results[i].Lowest, got.Results[i].Lowest, 1e-10)
		}
	})
}

// TestAgainstDense compares all points with a dense solver.
func TestAgainstDense(t *testing.T) {
	r := newProgram(t).result(strings.Fields("-nx 7 -ny 6 -points 4 -from 0 -to 3 -seed 9 -cp-path cp")...)
	require.InDelta(t, -3, r.Results[0].Lowest, 1e-10, "clean")
	for i, p := range r.Results {
		require.InDelta(t, float64(i), p.Disorder, 1e-15)
		require.True(t, p.Converged)
		l := graphene.Lattice{NX: 7, NY: 6, Disorder: p.Disorder, Seed: 9}
		full := mat.NewSymDense(int(l.Rows()), nil)
		for row := range l.Rows() {
			l.Row(row, func(column int64, value float64) { full.SetSym(int(row), int(column), value) })
		}
		var solver mat.EigenSym
		require.True(t, solver.Factorize(full, false))
		require.InDelta(t, solver.Values(nil)[0], p.Lowest, 1e-10, "point %d", i)
	}
}

// TestNothingChangesWhileItIsWritten lets the checkpoints look for values that
// the computation changes too early. The vectors are large enough for zero-copy.
func TestNothingChangesWhileItIsWritten(t *testing.T) {
	for _, frequency := range []string{"1", "2", "3"} {
		p := newProgram(t)
		p.Env = []string{"CRAFT_ASYNC_CHECK=1"}
		s := p.Start(strings.Fields("-nx 100 -ny 90 -points 3 -iters 15 -cp-path cp -ranks 2 -async zero-copy -inner-freq " + frequency)...).End(0)
		require.Empty(t, s.Stderr.String())
	}
}

func TestAnotherProblem(t *testing.T) {
	p := newProgram(t)
	p.result(small()...)
	s := p.Start(small("-seed", "5")...).End(1)
	require.Contains(t, s.Stderr.String(), "seed")
	require.Contains(t, s.Stderr.String(), "-cp-path")
	require.Empty(t, s.Stdout.String())
	t.Run("killed before anything outer was stored", func(t *testing.T) {
		p := newProgram(t)
		p.Start(small("-die-at", "0:15")...).End(-int(syscall.SIGKILL))
		require.Contains(t, p.Start(small("-seed", "5")...).End(1).Stderr.String(), "seed")
	})
	t.Run("fresh", func(t *testing.T) {
		p.T = t
		got := p.result(small("-fresh")...)
		require.Equal(t, -1, got.RestartedFrom)
		require.Equal(t, -1, got.InnerRestartedFrom)
	})
	t.Run("again", func(t *testing.T) {
		p.T = t
		got := p.result(small()...)
		require.Equal(t, 5, got.RestartedFrom)
		require.Zero(t, got.InnerVersionsWritten)
	})
}

// TestFailedWritesDoNotStopIt: the directories are lost while it runs.
func TestFailedWritesDoNotStopIt(t *testing.T) {
	want := newProgram(t).result(small("-points", "40")...)
	for _, mode := range jobs.Modes {
		p := newProgram(t)
		s := p.Start(small("-points", "40", "-async", string(mode))...)
		p.Eventually(func() bool {
			found, _ := filepath.Glob(filepath.Join(p.Dir, "cp", "sweep", "v-*"))
			return len(found) > 0
		})
		require.NoError(t, os.Rename(filepath.Join(p.Dir, "cp"), filepath.Join(p.Dir, "gone")))
		require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "cp"), nil, 0o666))
		s.End(0)
		require.Contains(t, s.Stderr.String(), "the computation goes on", mode)
		require.Contains(t, s.Stdout.String(), fmt.Sprintf("%.12f", want.Results[39].Lowest))
	}
}

func TestTable(t *testing.T) {
	s := newProgram(t).Start(small()...).End(0)
	require.Contains(t, s.Stdout.String(), "lowest eigenvalue")
	require.Contains(t, s.Stdout.String(), "not converged")
	require.Empty(t, s.Stderr.String())
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-no-such-flag"}, {"positional"}, {"-nx", "0"}, {"-ny", "x"}, {"-from", "-1"}, {"-to", "NaN"}, {"-to", "Inf"}, {"-points", "0"},
		{"-iters", "0"}, {"-ranks", "0"}, {"-outer-freq", "0"}, {"-inner-freq", "0"}, {"-async", "on"},
		{"-np", "0"}, {"-ranks", "2", "-np", "2"}, {"-nodes", "2"}, {"-recovery", "SHRINKING"},
		{"-die-at", "3"}, {"-die-at", "1:"}, {"-die-at", "-1:2"}, {"-die-at", "1:2:3"},
	} {
		s := newProgram(t).Start(args...).End(2)
		require.Contains(t, s.Stderr.String(), strings.TrimPrefix(args[0], "-"))
		require.Empty(t, s.Stdout.String())
	}
	s := newProgram(t).Start("-help").End(0)
	for _, flag := range strings.Fields("nx ny from to points seed iters ranks outer-freq inner-freq cp-path fresh async levels node-path die-at json np nodes spare-nodes recovery spawn") {
		require.Regexp(t, `(?m)^  -`+flag+`( |$)`, s.Stderr.String())
	}
}
