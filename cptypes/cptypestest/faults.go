package cptypestest

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

// smallReads hands the bytes over one at a time, and the last ones together
// with io.EOF.
func (s *suite[T]) smallReads(t *testing.T, rng *rand.Rand) {
	x := s.filled(t, rng)
	desc, stored := write(t, x)
	for _, r := range []io.Reader{
		iotest.OneByteReader(bytes.NewReader(stored)),
		iotest.DataErrReader(bytes.NewReader(stored)),
	} {
		y := s.fresh(t)
		read(t, y, desc, r, len(stored))
		s.requireEqual(t, x, y)
	}
}

// truncated cuts the stored bytes, and lets the reader fail, at many places.
func (s *suite[T]) truncated(t *testing.T, rng *rand.Rand) {
	x := s.filled(t, rng)
	desc, stored := write(t, x)
	broken := errors.New("broken reader")
	for _, cut := range cuts(len(stored), rng) {
		y := s.fresh(t)
		resize(t, y, desc)
		n, err := y.value.ReadFrom(bytes.NewReader(stored[:cut]))
		if !s.ToEOF {
			require.Error(t, err, "%d of %d bytes were enough", cut, len(stored))
		}
		require.LessOrEqual(t, n, int64(cut), "read more than there was")

		y = s.fresh(t)
		resize(t, y, desc)
		_, err = y.value.ReadFrom(io.MultiReader(bytes.NewReader(stored[:cut]), iotest.ErrReader(broken)))
		require.ErrorIs(t, err, broken, "the reader's error must come through")
	}
}

// cuts are all lengths below n, or a random choice of them.
func cuts(n int, rng *rand.Rand) []int {
	if n <= 48 {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all
	}
	some := []int{0, 1, 7, 8, 9, n / 2, n - 1}
	for range 24 {
		some = append(some, rng.IntN(n))
	}
	return some
}

// leftOver puts bytes behind the value: the type must refuse them or leave them
// to the caller, who finds them.
func (s *suite[T]) leftOver(t *testing.T, rng *rand.Rand) {
	x := s.filled(t, rng)
	desc, stored := write(t, x)
	r := bytes.NewReader(append(slices.Clone(stored), 1, 2, 3))
	y := s.fresh(t)
	resize(t, y, desc)
	n, err := y.value.ReadFrom(r)
	if s.ToEOF || err != nil {
		return
	}
	require.EqualValues(t, len(stored), n)
	require.Equal(t, 3, r.Len(), "ReadFrom took bytes that are not the value's and said nothing")
	s.requireEqual(t, x, y)
}

// mismatch offers stored values of other types and shapes to Resize.
func (s *suite[T]) mismatch(t *testing.T, rng *rand.Rand) {
	x := s.filled(t, rng)
	r, ok := x.value.(cptypes.Resizer)
	if !ok {
		return
	}
	desc, before := write(t, x)
	for name, change := range map[string]func(d *cptypes.Desc){
		"element type": func(d *cptypes.Desc) { d.Elem = (d.Elem + 1) % 13; d.Type = "other" },
		"opaque":       func(d *cptypes.Desc) { d.Elem = container.Opaque; d.Type = "other"; d.Shape = nil },
		"dimensions":   func(d *cptypes.Desc) { d.Shape = append(slices.Clone(d.Shape), 1) },
		"distribution": func(d *cptypes.Desc) { d.Dist = (d.Dist + 1) % 3 },
		"negative":     func(d *cptypes.Desc) { d.Shape = append([]int64{-1}, d.Shape[min(1, len(d.Shape)):]...) },
		"huge":         func(d *cptypes.Desc) { d.Shape = []int64{1 << 62, 1 << 62} },
	} {
		other := desc
		change(&other)
		if desc.Elem == container.Opaque && (name == "dimensions" || name == "negative" || name == "huge") {
			continue // the shape says nothing there
		}
		err := r.Resize(other)
		require.ErrorIs(t, err, cptypes.ErrMismatch, "%s: %+v", name, other)
		var mismatch *cptypes.MismatchError
		require.ErrorAs(t, err, &mismatch)
		require.Equal(t, other, mismatch.Stored)
		require.NotEmpty(t, mismatch.Reason)
	}
	_, after := write(t, x)
	require.True(t, bytes.Equal(before, after), "a refused Resize changed the value")
}

// limitedWriter fails after some bytes, as a full disk does.
type limitedWriter struct {
	left int
	err  error
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	if n < len(p) {
		return n, w.err
	}
	return n, nil
}

func (s *suite[T]) writerFails(t *testing.T, rng *rand.Rand) {
	x := s.filled(t, rng)
	_, stored := write(t, x)
	full := errors.New("disk full")
	for _, cut := range cuts(len(stored), rng) {
		n, err := x.value.WriteTo(&limitedWriter{left: cut, err: full})
		require.ErrorIs(t, err, full, "the writer's error must come through")
		require.EqualValues(t, cut, n)
	}
}

func product(shape []int64) int64 {
	n := int64(1)
	for _, x := range shape {
		n *= x
	}
	return n
}
