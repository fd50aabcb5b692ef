package cptypes_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/cptypes/cptypestest"
)

// sliceCase is a slice of n elements behind a constructor.
func sliceCase(n int, value func(v *[]float64) any) cptypestest.Case[[]float64] {
	c := builtinCase[[]float64]()
	c.Value = value
	c.Fill = func(v *[]float64, rng *rand.Rand) {
		*v = make([]float64, n)
		for i := range *v {
			(*v)[i] = randomFloat(rng)
		}
	}
	return c
}

func TestDeclaredArrays(t *testing.T) {
	cases := map[string]cptypestest.Case[[]float64]{
		"Matrix":      sliceCase(12, func(v *[]float64) any { return cptypes.Matrix(v, 3, 4) }),
		"MatrixEmpty": sliceCase(0, func(v *[]float64) any { return cptypes.Matrix(v, 0, 4) }),
		"Partitioned": sliceCase(4, func(v *[]float64) any { return cptypes.Partitioned(v, 3, 7, 20) }),
		"Nothing":     sliceCase(0, func(v *[]float64) any { return cptypes.Partitioned(v, 3, 3, 20) }),
		"Rows":        sliceCase(6, func(v *[]float64) any { return cptypes.PartitionedMatrix(v, 1, 4, 5, 2) }),
		"Box": sliceCase(2*3*1, func(v *[]float64) any {
			return cptypes.PartitionedBox(v, cptypes.Box{Lo: []int64{1, 0, 4}, Hi: []int64{3, 3, 5}}, []int64{3, 3, 9})
		}),
		"ReplicatedMatrix": sliceCase(12, func(v *[]float64) any { return cptypes.Replicated(cptypes.Matrix(v, 3, 4)) }),
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { cptypestest.Run(t, c) })
		t.Run(name+"/converted", func(t *testing.T) {
			cptypes.ConvertAlways(t)
			cptypestest.Run(t, c)
		})
	}
}

func TestWrongLengthIsFoundByUpdate(t *testing.T) {
	short := make([]float64, 3)
	for what, v := range map[string]cptypes.Value{
		"Partitioned(2, 6, 10)":            cptypes.Partitioned(&short, 2, 6, 10),
		"PartitionedMatrix(0, 2, 4, 2)":    cptypes.PartitionedMatrix(&short, 0, 2, 4, 2),
		"Matrix(2, 2)":                     cptypes.Matrix(&short, 2, 2),
		"PartitionedBox([0:2,1:3], [2 3])": cptypes.PartitionedBox(&short, cptypes.Box{Lo: []int64{0, 1}, Hi: []int64{2, 3}}, []int64{2, 3}),
	} {
		err := v.(cptypes.Updater).Update()
		require.ErrorIs(t, err, cptypes.ErrLength)
		require.ErrorContains(t, err, what+" needs a slice of 4 elements, it has 3")
		_, err = v.WriteTo(&bytes.Buffer{})
		require.ErrorIs(t, err, cptypes.ErrLength)
		_, ok := v.(cptypes.Spanner).Spans()
		require.False(t, ok)
	}
}

func TestConstructorErrorsComeOutOfOf(t *testing.T) {
	v := make([]float64, 4)
	box := func(lo, hi []int64) cptypes.Box { return cptypes.Box{Lo: lo, Hi: hi} }
	for _, c := range []struct {
		value cptypes.Value
		is    error
		text  string
	}{
		{cptypes.Partitioned(&v, 5, 4, 10), cptypes.ErrBox, "Partitioned(5, 4, 10): dimension 0: want 0 <= lo <= hi <= 10"},
		{cptypes.Partitioned(&v, -1, 4, 10), cptypes.ErrBox, "lo = -1"},
		{cptypes.Partitioned(&v, 5, 11, 10), cptypes.ErrBox, "hi = 11"},
		{cptypes.Partitioned[int](nil, 0, 4, 10), cptypes.ErrNil, "nil *[]int"},
		{cptypes.PartitionedMatrix(&v, 0, 1, 2, -2), cptypes.ErrBox, "negative extent"},
		{cptypes.PartitionedBox(&v, box([]int64{0}, []int64{1}), []int64{2, 2}), cptypes.ErrBox, "1 lower"},
		{cptypes.PartitionedBox(&v, box(nil, nil), nil), cptypes.ErrBox, "at least one dimension"},
		{cptypes.PartitionedBox(&v, box([]int64{0, 0}, []int64{1, 1}), []int64{1 << 40, 1 << 40}), cptypes.ErrBox, "too many"},
		{cptypes.Matrix(&v, -1, 3), cptypes.ErrBox, "Matrix(-1, 3)"},
		{cptypes.Matrix(&v, math.MaxInt, math.MaxInt), cptypes.ErrBox, "too large"},
		{cptypes.Matrix[float64](nil, 1, 3), cptypes.ErrNil, "Matrix(1, 3)"},
		{cptypes.Replicated(nil), cptypes.ErrNil, "nil"},
		{cptypes.Replicated(new(chan int)), cptypes.ErrUnsupported, "chan int"},
		{cptypes.Replicated(cptypes.Partitioned(&v, 0, 4, 4)), cptypes.ErrUnsupported, "partitioned"},
		{cptypes.Replicated(cptypes.Matrix(&v, -1, 3)), cptypes.ErrBox, "Matrix(-1, 3)"},
	} {
		_, err := cptypes.Of(c.value)
		require.ErrorIs(t, err, c.is)
		require.ErrorContains(t, err, c.text)
		_, err = c.value.WriteTo(&bytes.Buffer{})
		require.ErrorIs(t, err, c.is)
	}
}
