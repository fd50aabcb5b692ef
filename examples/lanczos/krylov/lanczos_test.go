package krylov_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/lanczos/graphene"
	"github.com/craft-go/craft/examples/lanczos/krylov"
	"github.com/craft-go/craft/examples/lanczos/matrixmarket"
	"github.com/craft-go/craft/examples/lanczos/sparse"
	"github.com/craft-go/craft/examples/lanczos/tridiag"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// read reads a Matrix Market file.
func read(t *testing.T, path string) krylov.Matrix {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	m, err := matrixmarket.Read(f)
	require.NoError(t, err)
	return m
}

// matrices are small enough for a dense solver. Many have eigenvalues of high
// multiplicity.
func matrices(t *testing.T) map[string]krylov.Matrix {
	all := map[string]krylov.Matrix{}
	files, err := filepath.Glob("../matrixmarket/testdata/*.mtx*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		all[filepath.Base(file)] = read(t, file)
	}
	for _, l := range []graphene.Lattice{
		{NX: 1, NY: 1}, {NX: 1, NY: 2}, {NX: 2, NY: 2}, {NX: 6, NY: 6}, {NX: 12, NY: 10},
		{NX: 6, NY: 6, Disorder: 0.5, Seed: 3}, {NX: 10, NY: 9, Disorder: 1e-3, Seed: 4},
	} {
		all[fmt.Sprintf("graphene %dx%d %g", l.NX, l.NY, l.Disorder)] = l
	}
	return all
}

// distinct gives the eigenvalues of a dense solver, each once.
func distinct(t *testing.T, m krylov.Matrix) []float64 {
	n := int(m.Rows())
	full := mat.NewSymDense(n, nil)
	for i := range n {
		m.Row(int64(i), func(column int64, value float64) { full.SetSym(i, int(column), value) })
	}
	var solver mat.EigenSym
	require.True(t, solver.Factorize(full, false))
	var values []float64
	for _, e := range solver.Values(nil) {
		if len(values) == 0 || e-values[len(values)-1] > 1e-9 {
			values = append(values, e)
		}
	}
	return values
}

// solve runs the process on one or more ranks and returns rank 0's state.
func solve(t *testing.T, m krylov.Matrix, ranks, members, steps int) (*krylov.Lanczos, []tridiag.Ritz) {
	var state *krylov.Lanczos
	var values []tridiag.Ritz
	err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		team := sparse.NewTeam(members)
		op, err := krylov.NewOperator(ctx, c, team, m)
		if err != nil {
			return err
		}
		l, err := krylov.NewLanczos(ctx, op, 1)
		if err != nil {
			return err
		}
		for range steps {
			if l.Invariant() {
				break
			}
			if err := l.Step(ctx); err != nil {
				return err
			}
		}
		if c.Rank() == 0 {
			state = l
			values, err = l.Spectrum(len(l.Alpha))
		}
		return err
	})
	require.NoError(t, err)
	return state, values
}

// TestAgainstDense: long after ghosts have appeared, every eigenvalue has been
// found, and nothing else.
func TestAgainstDense(t *testing.T) {
	for name, m := range matrices(t) {
		want := distinct(t, m)
		for _, ranks := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d ranks", name, ranks), func(t *testing.T) {
				_, values := solve(t, m, ranks, 1, 10*int(m.Rows()))
				require.Len(t, values, len(want))
				for i, r := range values {
					require.InDelta(t, want[i], r.Value, 1e-10)
				}
			})
		}
	}
}

// TestConvergedOnesAreEigenvalues: at all times what has a small residual is an
// eigenvalue, and none is there twice.
func TestConvergedOnesAreEigenvalues(t *testing.T) {
	for name, m := range matrices(t) {
		want := distinct(t, m)
		l, _ := solve(t, m, 1, 1, 3*int(m.Rows()))
		for steps := 1; steps <= len(l.Alpha); steps += 1 + steps/6 {
			values, err := l.Spectrum(steps)
			require.NoError(t, err)
			next := 0
			for _, r := range values {
				if r.Residual > 1e-8 {
					continue
				}
				for next < len(want) && want[next] < r.Value-2e-8 {
					next++
				}
				require.Less(t, next, len(want), "%s, %d steps: %+v", name, steps, r)
				require.InDelta(t, want[next], r.Value, 2e-8, "%s, %d steps: %+v", name, steps, r)
				next++
			}
		}
	}
}

// TestIndependentMatrix: see the README beside the data.
func TestIndependentMatrix(t *testing.T) {
	dir := os.Getenv("CRAFT_TEST_DATA")
	if dir == "" {
		dir = "../../../../shared/data"
	}
	path := filepath.Join(dir, "graphene-128x64.mtx")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		t.Skipf("%s not found; set CRAFT_TEST_DATA to its directory", path)
	}
	m := read(t, path)
	want := []float64{-3.001211083983, -3.000544647224, -3.000261412436, -2.998273354444, -2.997838948267, -2.994656930604}
	for _, c := range []struct{ ranks, steps int }{{1, 900}, {3, 1400}} {
		_, values := solve(t, m, c.ranks, 1, c.steps)
		for i, e := range want {
			require.InDelta(t, e, values[i].Value, 1e-10, "%+v", c)
		}
		require.InDelta(t, 3.000529767175, values[len(values)-1].Value, 1e-10)
	}
}

func TestSameBitsOnAnyNumberOfCores(t *testing.T) {
	m := graphene.Lattice{NX: 120, NY: 100, Disorder: 0.2, Seed: 5}
	for _, ranks := range []int{1, 2} {
		one, _ := solve(t, m, ranks, 1, 40)
		for _, members := range []int{2, 5} {
			more, _ := solve(t, m, ranks, members, 40)
			require.Equal(t, one.Alpha, more.Alpha)
			require.Equal(t, one.Beta, more.Beta)
			require.Equal(t, one.Current, more.Current)
		}
	}
}

func TestRanksAgree(t *testing.T) {
	m := graphene.Lattice{NX: 6, NY: 5, Disorder: 0.2, Seed: 5}
	one, _ := solve(t, m, 1, 1, 30)
	for _, ranks := range []int{2, 3, 7, 70} { // 60 rows: some ranks have none
		more, _ := solve(t, m, ranks, 1, 30)
		require.InDeltaSlice(t, one.Alpha, more.Alpha, 1e-11, "%d ranks", ranks)
		require.InDeltaSlice(t, one.Beta, more.Beta, 1e-11, "%d ranks", ranks)
	}
}

// TestRecurrence checks A v[k] = beta[k-1] v[k-1] + alpha[k] v[k] + beta[k] v[k+1]
// and the norms, straight from the definition.
func TestRecurrence(t *testing.T) {
	m := graphene.Lattice{NX: 7, NY: 5, Disorder: 0.4, Seed: 1}
	unit := func(steps int) []float64 { // v[steps]
		l, _ := solve(t, m, 1, 1, steps)
		v := append([]float64(nil), l.Current...)
		if steps > 0 {
			for i := range v {
				v[i] /= l.Beta[steps-1]
			}
		}
		return v
	}
	const k = 6
	l, _ := solve(t, m, 1, 1, k+1)
	before, v, after := unit(k-1), unit(k), unit(k+1)
	for i := range v {
		product := 0.0
		m.Row(int64(i), func(column int64, value float64) { product += value * v[column] })
		require.InDelta(t, product, l.Beta[k-1]*before[i]+l.Alpha[k]*v[i]+l.Beta[k]*after[i], 1e-13)
	}
	for _, w := range [][]float64{before, v, after} {
		require.InDelta(t, 1, mat.Norm(mat.NewVecDense(len(w), w), 2), 1e-14)
	}
}

func TestInvariantSubspaceEndsTheProcess(t *testing.T) {
	for name, steps := range map[string]int{"one.mtx": 1, "two.mtx": 2, "diagonal.mtx": 4} {
		l, _ := solve(t, read(t, filepath.Join("../matrixmarket/testdata", name)), 1, 1, 100)
		require.True(t, l.Invariant(), name)
		require.Len(t, l.Alpha, steps, "%s: as many steps as distinct eigenvalues", name)
	}
}

// TestDone: the process ends at the same step on all ranks, with converged
// values, and is not misled by the wish for more values than there are.
func TestDone(t *testing.T) {
	m := graphene.Lattice{NX: 16, NY: 12, Disorder: 0.3, Seed: 2}
	want := distinct(t, m)[:4]
	err := afttest.Run(t.Context(), 3, func(ctx context.Context, c *comm.Comm) error {
		team := sparse.NewTeam(1)
		op, err := krylov.NewOperator(ctx, c, team, m)
		if err != nil {
			return err
		}
		l, err := krylov.NewLanczos(ctx, op, 9)
		if err != nil {
			return err
		}
		for {
			if done, err := l.Done(ctx, len(want), 1e-9); err != nil || done {
				break
			}
			if len(l.Alpha) > 2000 {
				return errors.New("no end")
			}
			if err := l.Step(ctx); err != nil {
				return err
			}
		}
		values, err := l.Spectrum(len(l.Alpha))
		if err != nil {
			return err
		}
		for i, e := range want {
			if math.Abs(values[i].Value-e) > 1e-8 {
				return fmt.Errorf("value %d: %v, want %v", i, values[i], e)
			}
		}
		if done, err := l.Done(ctx, 10_000, 1e-9); err != nil || done {
			return fmt.Errorf("10000 values: %v, %v", done, err)
		}
		return nil
	})
	require.NoError(t, err)
}

// TestHold: held vectors keep their numbers, the process computes the same ones
// as without, and its memory stays the same.
func TestHold(t *testing.T) {
	const steps = 30
	m := graphene.Lattice{NX: 40, NY: 33, Disorder: 0.3, Seed: 8}
	want, _ := solve(t, m, 1, 1, steps)
	for _, every := range []int{1, 2, 3, 7} {
		team := sparse.NewTeam(2)
		op, err := krylov.NewOperator(t.Context(), comm.Self(), team, m)
		require.NoError(t, err)
		l, err := krylov.NewLanczos(t.Context(), op, 1)
		require.NoError(t, err)
		memory := map[*float64]bool{}
		var held, kept [2][]float64
		for step := range steps {
			err := l.Step(t.Context())
			require.NoError(t, err)
			memory[&l.Previous[0]], memory[&l.Current[0]] = true, true
			require.Equal(t, kept, held, "every %d, step %d", every, step)
			if step%every == 0 {
				l.Hold()
				held = [2][]float64{l.Previous, l.Current}
				kept = [2][]float64{slices.Clone(l.Previous), slices.Clone(l.Current)}
			}
		}
		require.Equal(t, want.Alpha, l.Alpha)
		require.Equal(t, want.Beta, l.Beta)
		require.Equal(t, want.Current, l.Current)
		require.LessOrEqual(t, len(memory), 4)
	}
}
