package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/craft-go/craft/examples/kmeans/dataset"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/stretchr/testify/require"
)

// TestMain: the program is kmeans, or what it is compared with.
func TestMain(m *testing.M) {
	testprogram.Main(m, func() {
		if what := os.Getenv(aloneVariable); what == "" {
			main()
		} else if err := runAlone(what); err != nil {
			fmt.Fprintln(os.Stderr, "alone:", err)
			os.Exit(1)
		} else {
			os.Exit(0)
		}
	})
}

// program is the program in a working directory of its own.
type program struct{ *testprogram.Program }

func newProgram(t *testing.T) *program { return &program{testprogram.New(t)} }

// result runs it with -json and wants success and one line of JSON.
func (p *program) result(args ...string) (r result) {
	p.T.Helper()
	p.JSON(&r, append(args, "-json")...)
	return r
}

// small has 24 blocks, the last one not full.
func small(more ...string) []string {
	return append(strings.Fields("-points 6000 -dim 3 -centres 7 -iters 40 -seed 4"), more...)
}

// same wants the clustering of another run.
func same(t *testing.T, want, got result) {
	t.Helper()
	require.Equal(t, want.Centres, got.Centres)
	require.Equal(t, want.Sizes, got.Sizes)
	require.Equal(t, want.Inertia, got.Inertia)
	require.Equal(t, want.Digest, got.Digest)
	require.Equal(t, want.Iterations, got.Iterations)
}

func TestAnyNumberOfRanks(t *testing.T) {
	want := newProgram(t).result(small()...)
	require.Len(t, want.Centres, 7)
	require.EqualValues(t, 6000, want.Points)
	var points int64
	for _, n := range want.Sizes {
		points += n
	}
	require.EqualValues(t, 6000, points)
	for _, how := range []string{"-ranks 2", "-ranks 7", "-ranks 30", "-np 3", "-np 4 -nodes 2"} { // 30: some have no points
		got := newProgram(t).result(small(strings.Fields(how)...)...)
		same(t, want, got)
		require.Zero(t, got.Recoveries)
		require.Zero(t, got.Restored+got.Anew)
		require.Equal(t, min(4, got.Ranks), got.Copies)
		require.Positive(t, got.Restore.Submit)
		require.InDelta(t, 100*(got.Restore.Open+got.Restore.Submit+got.Restore.Load+got.Restore.Repair)/got.Seconds, got.Percent, 1e-9)
	}
	require.NotEqual(t, want.Digest, newProgram(t).result(small("-seed", "5")...).Digest)
	require.Greater(t, newProgram(t).result(small("-iters", "1")...).Inertia, want.Inertia)
}

// TestFiles: the points of a file are clustered as they are when they are made.
func TestFiles(t *testing.T) {
	points := dataset.Generated{Points: 600, Dim: 2, Places: 3, Seed: 4}
	data := make([]float64, 2*points.Points)
	require.NoError(t, points.Read(0, data))
	var csv strings.Builder
	for i := 0; i < len(data); i += 2 {
		fmt.Fprintf(&csv, "%v,%v\n", data[i], data[i+1])
	}
	p := newProgram(t)
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "points.csv"), []byte(csv.String()), 0o666))
	args := strings.Fields("-centres 3 -iters 10 -seed 4 -ranks 2")
	want := p.result(append(args, "-points", "600", "-dim", "2")...)
	same(t, want, p.result(append(args, "-in", "points.csv")...))
	same(t, want, p.result(append(args[:len(args)-2], strings.Fields("-in points.csv -np 3 -kill 1@4 -recovery SHRINKING")...)...))

	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "bad.csv"), []byte("1,2\n3,x\n"), 0o666))
	for _, how := range [][]string{{"-ranks", "2"}, {"-np", "3"}} {
		s := p.Start(append(how, "-in", "bad.csv", "-centres", "2")...).End(1)
		require.Equal(t, 1, strings.Count(s.Stderr.String(), `bad.csv: line 2: not a table of points: "x" is no number`), s.Stderr.String())
		s = p.Start(append(how, "-in", "points.csv", "-centres", "601")...).End(1)
		require.Contains(t, s.Stderr.String(), "-centres 601: there are no more than 600 points")
	}
}

func TestPicture(t *testing.T) {
	args := strings.Fields("-points 3000 -dim 2 -centres 4 -iters 10")
	p := newProgram(t)
	for _, name := range []string{"a.svg", "b.png", "c.svg"} {
		ranks := strconv.Itoa(1 + len(name)%2*2)
		if name == "c.svg" {
			ranks = "3"
		}
		s := p.Start(append(args, "-plot", name, "-ranks", ranks)...).End(0)
		require.Contains(t, s.Stdout.String(), "4 clusters")
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(p.Dir, name))
		require.NoError(t, err)
		return string(b)
	}
	require.Contains(t, read("a.svg"), "4 clusters after 10 iterations")
	require.Contains(t, read("a.svg"), "second coordinate")
	require.Equal(t, read("a.svg"), read("c.svg"), "whoever had which points")
	require.True(t, strings.HasPrefix(read("b.png"), "\x89PNG"))

	for want, flags := range map[string]string{"two coordinates": "-dim 1 -plot d.svg", "none/e.svg": "-plot none/e.svg"} {
		s := p.Start(small(strings.Fields(flags + " -np 2 -kill 1@0")...)...).End(1)
		require.Contains(t, s.Stderr.String(), want)
		require.NotContains(t, s.Stderr.String(), "a process has failed", "an iteration was computed before")
	}
}

func TestTable(t *testing.T) {
	s := newProgram(t).Start(small("-np", "3", "-kill", "1@5")...).End(0)
	out := s.Stdout.String()
	require.Contains(t, out, "6,000 points of 3 coordinates, 7 clusters\n40 iterations on 3 ranks")
	require.Contains(t, out, "1 recovery")
	require.Contains(t, out, "2,048 points came from the memory of other ranks")
	require.Contains(t, out, "ReStore: 3 copies of each block")
	require.Contains(t, s.Stderr.String(), "recovered: the next iteration is 6")
	require.Empty(t, newProgram(t).Start(small()...).End(0).Stderr.String(), "quiet unless it is a terminal")
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-no-such-flag"}, {"positional"}, {"-points", "0"}, {"-points", "x"}, {"-dim", "0"}, {"-centres", "0"}, {"-iters", "0"}, {"-copies", "0"},
		{"-in", "a.npy", "-points", "3"}, {"-in", "a.npy", "-dim", "3"}, {"-plot", "a.pdf"}, {"-plot", "svg"}, {"-die-at", "-2"},
		{"-failures", "0.5"}, {"-failures", "1", "-np", "2"}, {"-failures", "NaN", "-np", "2"}, {"-failures", "-1", "-np", "2"},
		{"-ranks", "0"}, {"-np", "0"}, {"-ranks", "2", "-np", "2"}, {"-nodes", "2"}, {"-recovery", "SHRINKING"},
		{"-kill", "0@5"}, {"-kill", "2@5", "-np", "2"}, {"-kill", "0", "-np", "2"}, {"-kill-node", "1@5", "-np", "2"},
	} {
		s := newProgram(t).Start(args...).End(2)
		require.Contains(t, s.Stderr.String(), strings.TrimPrefix(args[0], "-"))
		require.Empty(t, s.Stdout.String())
	}
	s := newProgram(t).Start("-help").End(0)
	for _, flag := range strings.Fields("points dim centres iters seed in copies plot failures kill kill-node die-at ranks np nodes spare-nodes recovery spawn json") {
		require.Regexp(t, `(?m)^  -`+flag+`( |$)`, s.Stderr.String())
	}
	require.NotContains(t, s.Stderr.String(), "-async")
	require.Contains(t, newProgram(t).Start("-in", "a.txt").End(1).Stderr.String(), ".npy or .csv")
}
