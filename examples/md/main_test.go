package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/craft-go/craft/examples/internal/killtest"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { testprogram.Main(m, main) }

func newProgram(t *testing.T) killtest.Program[result] { return killtest.NewProgram[result](t) }

// small is 720 atoms in 3 x 3 x 3 cells: 9 rows. It is so hot that atoms go from rank to rank.
func small(more ...string) []string {
	return append(strings.Fields("-nx 5 -ny 6 -nz 6 -iters 15 -temperature 20000 -seed 4 -cp-path cp"), more...)
}

// same wants the atoms and the energies of another run.
func same(t *testing.T, want, got result, what ...any) {
	t.Helper()
	require.Equal(t, want.Digest, got.Digest, what...)
	require.Equal(t, want.Energies, got.Energies, what...)
	require.Equal(t, want.Potential, got.Potential, what...)
	require.Equal(t, want.Kinetic, got.Kinetic, what...)
	require.Equal(t, want.Drift, got.Drift, what...)
	require.Equal(t, want.Iterations, got.Iterations, what...)
}

func TestAnyNumberOfRanks(t *testing.T) {
	want := newProgram(t).Result(small()...)
	require.EqualValues(t, 720, want.Atoms)
	require.Equal(t, [3]int{3, 3, 3}, want.Cells)
	require.Len(t, want.Energies, 2)
	require.Less(t, want.Drift, 1e-2)
	require.Greater(t, want.Temperature, 5000.0)
	require.Equal(t, 15+1, want.VersionsWritten, "and one that says that the run is finished")
	for _, how := range []string{"-ranks 2", "-ranks 7", "-ranks 12", "-np 3 -nodes 2"} { // 12: three have nothing
		got := newProgram(t).Result(small(strings.Fields(how + " -freq 5")...)...)
		same(t, want, got, how)
		require.Zero(t, got.Recoveries)
		require.Equal(t, 3+1, got.VersionsWritten)
	}
	require.NotEqual(t, want.Digest, newProgram(t).Result(small("-seed", "5")...).Digest)
	require.NotEqual(t, want.Digest, newProgram(t).Result(small("-cutoff", "2.4")...).Digest)
}

// TestEnergyIsConserved by the defaults, to 5e-5 of it.
func TestEnergyIsConserved(t *testing.T) {
	got := newProgram(t).Result(strings.Fields("-nx 6 -ny 6 -nz 6 -iters 100 -freq 1000")...)
	require.Less(t, got.Drift, 5e-5)
	require.Positive(t, got.Drift)
	require.Len(t, got.Energies, 11)
	require.InDelta(t, 300, got.Temperature, 40, "half of the 600 K has gone into the lattice")
}

// TestRestartedByOthers: the job is killed as a whole, and started again with another number of ranks.
func TestRestartedByOthers(t *testing.T) {
	want := newProgram(t).Result(small()...)
	for _, ranks := range [][2]int{{1, 4}, {3, 3}, {7, 2}, {8, 1}} {
		p := newProgram(t)
		p.Start(small("-ranks", fmt.Sprint(ranks[0]), "-die-at", "11")...).End(-int(syscall.SIGKILL))
		got := p.Result(small("-ranks", fmt.Sprint(ranks[1]), "-die-at", "11")...)
		same(t, want, got, ranks)
		require.Equal(t, 11, got.RestartedFrom)
		require.Equal(t, ranks[1], got.Ranks)
		again := p.Result(small()...)
		same(t, want, again, ranks)
		require.Equal(t, 15, again.RestartedFrom)
	}
}

func TestGoesOnFarther(t *testing.T) {
	p := newProgram(t)
	p.Result(small("-iters", "9")...)
	got := p.Result(small("-ranks", "2")...)
	require.Equal(t, 9, got.RestartedFrom)
	same(t, newProgram(t).Result(small()...), got)
}

// TestCheckpointsAreSmall: an atom is a number and six coordinates, and nothing is kept of cells
// that have room for more.
func TestCheckpointsAreSmall(t *testing.T) {
	const ofPart = 4 << 10 // header, index and footer
	for ranks := 1; ranks <= 3; ranks++ {
		got := newProgram(t).Result(small("-ranks", fmt.Sprint(ranks))...)
		require.LessOrEqual(t, got.BytesWritten, int64(got.VersionsWritten)*(got.Atoms*7*8+int64(ranks)*ofPart))
	}
}

// TestAsynchronous: what is written in the background is not what the next step makes of it. In
// zero-copy mode the arrays are large enough to be written from where they are.
func TestAsynchronous(t *testing.T) {
	args := strings.Fields("-nx 10 -ny 10 -nz 10 -iters 12 -temperature 20000 -cp-path cp")
	want := newProgram(t).Result(args...)
	for _, mode := range []string{"copy", "zero-copy"} {
		p := newProgram(t)
		p.Env = append(p.Env, "CRAFT_ASYNC_CHECK=1")
		p.Start(append(args, "-async", mode, "-die-at", "7")...).End(-int(syscall.SIGKILL))
		s := p.Start(append(args, "-async", mode, "-die-at", "7", "-json")...).End(0)
		require.Contains(t, s.Stdout.String(), want.Digest, mode)
		require.Contains(t, s.Stdout.String(), `"restarted_from":7,`, mode)
		require.NotContains(t, s.Stderr.String(), "no checkpoint", mode)
	}
}

func TestAnotherProblem(t *testing.T) {
	p := newProgram(t)
	p.Result(small()...)
	for _, other := range []string{"-seed 5", "-nx 6", "-cutoff 2.4", "-dt 2", "-temperature 600"} {
		s := p.Start(small(strings.Fields(other)...)...).End(1)
		name, _, _ := strings.Cut(other[1:], " ")
		require.Contains(t, s.Stderr.String(), name)
		require.Contains(t, s.Stderr.String(), "-cp-path")
	}
}

func TestTable(t *testing.T) {
	p := newProgram(t)
	s := p.Start(strings.Fields("-nx 5 -ny 5 -nz 5 -iters 20 -np 3 -kill 1@5")...).End(0)
	out := s.Stdout.String()
	require.Contains(t, out, "copper, 5 x 5 x 5 unit cells: 500 atoms in 3 x 3 x 3 link cells\n20 iterations on 3 ranks")
	require.Contains(t, out, "with 1 recovery")
	require.Regexp(t, `energy +-\d+\.\d+ eV, of which -\d+\.\d+ eV potential`, out)
	require.Regexp(t, `largest drift +\d\.\de-0\d of it`, out)
	require.Contains(t, out, "21 checkpoints in md-checkpoints/copper-5x5x5-cutoff2.5-600K-1fs-seed1")
	require.Contains(t, s.Stderr.String(), "recovered: the next iteration is 5")
	require.DirExists(t, filepath.Join(p.Dir, "md-checkpoints"))
}

func TestUsage(t *testing.T) {
	for _, args := range []string{
		"-no-such-flag", "positional", "-nx 0", "-ny x", "-nz 200000", "-nx 4", "-cutoff 0", "-cutoff NaN", "-cutoff 11", "-temperature -1",
		"-temperature +Inf", "-dt 0", "-dt NaN", "-iters 0", "-freq 0", "-seed -1", "-ranks 0", "-kill 0@5", "-async x",
	} {
		s := newProgram(t).Start(strings.Fields(args)...).End(2)
		require.Contains(t, s.Stderr.String(), strings.TrimPrefix(strings.Fields(args)[0], "-"))
		require.Empty(t, s.Stdout.String())
	}
	require.Contains(t, newProgram(t).Start("-ny", "4").End(2).Stderr.String(), "must be at least 3 times the cut-off of 5.787")
	s := newProgram(t).Start("-help").End(0)
	for _, flag := range strings.Fields("nx ny nz cutoff temperature dt seed iters freq cp-path fresh kill kill-node die-at ranks np nodes spare-nodes recovery spawn levels async json") {
		require.Regexp(t, `(?m)^  -`+flag+`( |$)`, s.Stderr.String())
	}
}

// TestStepsTooLong end with an error that says so, once.
func TestStepsTooLong(t *testing.T) {
	for _, how := range []string{"-ranks 2", "-np 3"} {
		s := newProgram(t).Start(small(append(strings.Fields(how), "-dt", "5000")...)...).End(1)
		require.Len(t, regexp.MustCompile(`(?m)^md: .*the time step is too long \(-dt\)`).FindAllString(s.Stderr.String(), -1), 1, s.Stderr.String())
	}
}
