package checkpoint_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
)

// The listings of docs/checkpointing.md are taken from the files guide*_test.go,
// word for word: see TestGuideListings.

// diffuse is a step of some computation.
func diffuse(field []float64) {
	guideSteps.count()
	for i := 1; i < len(field)-1; i++ {
		field[i] += 0.1 * (field[i-1] - 2*field[i] + field[i+1])
	}
}

// 1. The first program.

func simulate(ctx context.Context, dir string, steps int) (float64, error) {
	field := make([]float64, 1000)
	field[500] = 100
	energy := 0.0

	cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir))
	if err != nil {
		return 0, err
	}
	defer cp.Close()
	cp.Add("field", &field)
	cp.Add("energy", &energy)
	if err := cp.Commit(); err != nil { // also returns the first error of Add
		return 0, err
	}

	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return 0, err
	}
	for ; iter < steps; iter++ {
		diffuse(field)
		energy += field[501]
		if err := cp.UpdateAndWrite(ctx, iter, 10); err != nil {
			return 0, err
		}
	}
	return energy, nil
}

func TestGuideFirstProgram(t *testing.T) {
	dir := t.TempDir()
	want, err := simulate(t.Context(), t.TempDir(), 100)
	require.NoError(t, err)
	killed(t, "simulate", dir, 35)
	guideSteps = stepCounter{}
	got, err := simulate(t.Context(), dir, 100)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, 100-31, guideSteps.done, "it goes on after version 30")
}

// A program that forgets RestartIfNeeded begins anew, and drives out what is
// stored.
func TestGuideForgottenRestart(t *testing.T) {
	dir, x := t.TempDir(), 0
	for run, forgets := range []bool{false, true, false} {
		cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir), checkpoint.WithKeep(2), checkpoint.WithLogger(quiet))
		require.NoError(t, err)
		require.NoError(t, errors.Join(cp.Add("x", &x), cp.Commit()))
		if !forgets {
			iter := 0
			require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
			require.Equal(t, []int{0, 0, 4}[run], iter)
		}
		for iter := range []int{30, 4, 0}[run] {
			require.NoError(t, cp.UpdateAndWrite(t.Context(), iter, 1))
		}
		require.NoError(t, cp.Close())
	}
}

// A version of Write has no iteration.
func TestGuideWrite(t *testing.T) {
	dir, x := t.TempDir(), 7
	for range 2 {
		cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
		require.NoError(t, err)
		require.NoError(t, errors.Join(cp.Add("x", &x), cp.Commit()))
		iter := 5
		require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
		require.Equal(t, 5, iter)
		require.NoError(t, cp.Write(t.Context()))
		require.NoError(t, cp.Close())
		x = 0
	}
}

// 2. What can be added.

func addThings(cp *checkpoint.Checkpoint) error {
	var (
		temperature float64
		converged   bool
		title       string
		started     time.Time
		history     []float64   // may grow and shrink from version to version
		grid        [][]float64 // rows of one length
		pairs       [8][2]int32 // arrays
		names       []string    // of any lengths
		particles   []particle  // structs, and whatever is in them
		counts      map[string]int
		matrix      = mat.NewDense(3, 3, nil)
		generator   = rand.NewPCG(1, 2)
	)
	cp.Add("temperature", &temperature)
	cp.Add("converged", &converged)
	cp.Add("title", &title)
	cp.Add("started", &started)
	cp.Add("history", &history)
	cp.Add("grid", &grid)
	cp.Add("pairs", &pairs)
	cp.Add("names", &names)
	cp.Add("particles", &particles)
	cp.Add("counts", &counts)
	cp.Add("matrix", matrix)       // gonum's are pointers already
	cp.Add("generator", generator) // the source, not the *rand.Rand around it
	return cp.Commit()
}

func addParts(cp *checkpoint.Checkpoint) error {
	grid := make([][]float64, 100)
	for i := range grid {
		grid[i] = make([]float64, 50)
	}
	flat := make([]float64, 100*64) // 100 rows of 50, 64 apart

	cp.Add("boundary", cptypes.Columns(&grid, cptypes.Column(0)))
	cp.Add("left", cptypes.Columns(&grid, cptypes.ColumnRange(1, 10)))
	cp.Add("inner", cptypes.MatrixLD(&flat, 100, 50, 64, cptypes.RowMajor))
	cp.Add("diagonal", cptypes.Vector(&flat, 0, 50, 1, 65)) // 50 blocks of 1, 65 apart
	return cp.Commit()
}

func TestGuideThingsToAdd(t *testing.T) {
	for _, add := range []func(*checkpoint.Checkpoint) error{addThings, addParts} {
		dir := t.TempDir()
		for range 2 { // written, and read
			cp, err := checkpoint.New("things", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
			require.NoError(t, err)
			require.NoError(t, add(cp))
			require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
			require.NoError(t, cp.Write(t.Context()))
			require.NoError(t, cp.Close())
		}
	}
}
