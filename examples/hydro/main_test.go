package main

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/craft-go/craft/examples/internal/killtest"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { testprogram.Main(m, main) }

func newProgram(t *testing.T) killtest.Program[result] { return killtest.NewProgram[result](t) }

// small has boxes of several sizes on most numbers of ranks.
func small(more ...string) []string {
	return append(strings.Fields("-edge 7 -iters 30"), more...)
}

// same wants what another run has come to.
func same(t *testing.T, want, got result, about ...any) {
	t.Helper()
	require.Equal(t, want.Digest, got.Digest, about...)
	require.Equal(t, want.Iterations, got.Iterations)
	require.Equal(t, []float64{want.Time, want.Energy, want.Kinetic, want.ShockRadius}, []float64{got.Time, got.Energy, got.Kinetic, got.ShockRadius})
}

func TestAnyNumberOfRanks(t *testing.T) {
	want := newProgram(t).Result(small()...)
	require.Equal(t, 30, want.Iterations)
	require.Equal(t, 30+1, want.VersionsWritten, "and one that says that the run is finished")
	require.InDelta(t, 0, want.EnergyError, 1e-12)
	require.InEpsilon(t, want.SedovRadius, want.ShockRadius, 0.2)
	require.Greater(t, want.Kinetic, 0.1)
	for _, how := range []string{"-ranks 2 -freq 10", "-ranks 3 -freq 10", "-ranks 7 -freq 10", "-ranks 27 -freq 10", "-np 8"} {
		got := newProgram(t).Result(small(strings.Fields(how)...)...)
		same(t, want, got, how)
		require.Zero(t, got.Recoveries)
	}
	require.NotEqual(t, want.Digest, newProgram(t).Result("-edge", "7", "-iters", "31").Digest)
}

// TestRestartOnOtherRanks: what some ranks have written is read by fewer and by more, in all modes, to the same bits.
func TestRestartOnOtherRanks(t *testing.T) {
	want := newProgram(t).Result(small()...)
	p := newProgram(t)
	p.Env = append(p.Env, "CRAFT_ASYNC_CHECK=1")
	for _, c := range []struct {
		how         string
		from, until int
	}{
		{"-ranks 8", -1, 5},
		{"-ranks 3 -async copy", 5, 10},
		{"-ranks 7 -async zero-copy", 10, 15},
		{"-np 2", 15, 20},
		{"-ranks 1 -freq 4", 20, 27},
		{"-ranks 27", 27, 30}, // also where no version was due
	} {
		got := p.Result(append(strings.Fields(c.how), "-edge", "7", "-iters", fmt.Sprint(c.until))...)
		require.Equal(t, []int{c.from, c.until}, []int{got.RestartedFrom, got.Iterations}, c.how)
		if c.until == want.Iterations {
			same(t, want, got)
		}
	}
}

// TestDeath: the program is killed, and the same command goes on.
func TestDeath(t *testing.T) {
	want := newProgram(t).Result(small()...)
	p := newProgram(t)
	p.Start(small("-ranks", "2", "-die-at", "17")...).End(-int(syscall.SIGKILL))
	got := p.Result(small("-ranks", "2", "-die-at", "17")...)
	same(t, want, got)
	require.Equal(t, 17, got.RestartedFrom)
}

// TestSize: ranks that are no cube have what the next larger cube of ranks has.
func TestSize(t *testing.T) {
	p := newProgram(t)
	want := p.Result("-edge", "6", "-iters", "3")
	for _, how := range []string{"-size 3 -ranks 8", "-size 3 -ranks 5", "-size 3 -np 2", "-size 2 -ranks 27", "-size 6"} {
		got := p.Result(append(strings.Fields(how), "-iters", "3", "-fresh")...)
		require.Equal(t, 6, got.Edge, how)
		require.Equal(t, want.Digest, got.Digest, how)
	}
	got := p.Result(strings.Fields("-size 3 -np 2 -iters 9 -kill 1@7 -recovery SHRINKING")...)
	require.Equal(t, []int{6, 1, 3}, []int{got.Edge, got.Ranks, got.RestartedFrom}, "it stays what it was")
}

// TestAnotherSize is another problem, with a directory of its own, or an error in the same one.
func TestAnotherSize(t *testing.T) {
	p := newProgram(t)
	require.Equal(t, 12, p.Result("-edge", "12", "-iters", "3").Edge)
	require.Equal(t, -1, p.Result("-edge", "8", "-iters", "3").RestartedFrom)
	s := p.Start("-size", "5", "-iters", "3", "-cp-path", "hydro-checkpoints/sedov-edge8").End(1)
	for _, says := range []string{"edge", "-cp-path", "with -edge"} {
		require.Contains(t, s.Stderr.String(), says)
	}
}

func TestFlags(t *testing.T) {
	cfg, err := parseFlags(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []int{12, 0, 100, 1}, []int{cfg.size, cfg.edge, cfg.Iterations, cfg.Frequency})
	for args, says := range map[string]string{
		"-edge 0":         "-edge 0: it must be 1 to",
		"-edge 2049":      "-edge 2049: it must be 1 to",
		"-size 0 -np 8":   "-size 0: it must be 1 to",
		"-size 4 -edge 4": "-size, -edge",
		"-iters 0":        "-iters 0",
		"more":            "unexpected argument",
	} {
		_, err := parseFlags(strings.Fields(args), io.Discard)
		require.ErrorContains(t, err, says, args)
	}
	require.Contains(t, newProgram(t).Start("-size", "1100", "-ranks", "8").End(1).Stderr.String(), "-size 1100: the cube has 2200")
}

// TestForPeople: what is printed without -json.
func TestForPeople(t *testing.T) {
	s := newProgram(t).Start("-edge", "6", "-iters", "20", "-ranks", "2").End(0)
	require.Empty(t, s.Stderr.String())
	for _, says := range []string{"216 elements, 6 along each edge", "20 iterations on 2 ranks", "the shock is at radius 0.", "energy 0.106384,", "21 checkpoints in hydro-checkpoints/sedov-edge6", "digest "} {
		require.Contains(t, s.Stdout.String(), says)
	}
}
