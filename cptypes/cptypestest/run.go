package cptypestest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage/container"
)

// rounds is how many random contents each check is made with.
const rounds = 6

// Run checks a type as subtests of t.
func Run[T any](t *testing.T, c Case[T]) {
	t.Helper()
	s := &suite[T]{Case: c.withDefaults(), seed: testseed.Seed(t)}
	for _, check := range []struct {
		name string
		run  func(t *testing.T, rng *rand.Rand)
	}{
		{"RoundTrip", s.roundTrip},
		{"WriteIsRepeatable", s.writeIsRepeatable},
		{"Reuse", s.reuse},
		{"Sizes", s.sizes},
		{"Spans", s.spans},
		{"SmallReads", s.smallReads},
		{"Truncated", s.truncated},
		{"LeftOver", s.leftOver},
		{"Mismatch", s.mismatch},
		{"WriterFails", s.writerFails},
	} {
		t.Run(check.name, func(t *testing.T) {
			for round := range uint64(rounds) {
				check.run(t, rand.New(rand.NewPCG(s.seed, round)))
			}
		})
	}
}

type suite[T any] struct {
	Case[T]
	seed uint64
}

// fresh is a variable as a restarted program has it.
func (s *suite[T]) fresh(t *testing.T) subject[T] {
	v := s.New()
	require.NotNil(t, v, "New returned nil")
	value, err := cptypes.Of(s.Value(v))
	require.NoError(t, err)
	return subject[T]{v, value}
}

func (s *suite[T]) filled(t *testing.T, rng *rand.Rand) subject[T] {
	x := s.fresh(t)
	s.Fill(x.v, rng)
	return x
}

// write stores x as a synchronous checkpoint does.
func write[T any](t *testing.T, x subject[T]) (cptypes.Desc, []byte) {
	if u, ok := x.value.(cptypes.Updater); ok {
		require.NoError(t, u.Update())
	}
	desc := cptypes.DescOf(x.value)
	var buf bytes.Buffer
	n, err := x.value.WriteTo(&buf)
	require.NoError(t, err)
	require.EqualValues(t, buf.Len(), n, "what WriteTo returns is not what it wrote")
	return desc, buf.Bytes()
}

// resize prepares x for a stored value.
func resize[T any](t *testing.T, x subject[T], stored cptypes.Desc) {
	if r, ok := x.value.(cptypes.Resizer); ok {
		require.NoError(t, r.Resize(stored))
	}
}

func read[T any](t *testing.T, x subject[T], stored cptypes.Desc, r io.Reader, size int) {
	resize(t, x, stored)
	n, err := x.value.ReadFrom(r)
	require.NoError(t, err)
	require.EqualValues(t, size, n, "ReadFrom must read the whole value and say so")
}

func (s *suite[T]) requireEqual(t *testing.T, want, have subject[T]) {
	if !s.Equal(want.v, have.v) {
		require.Equal(t, want.v, have.v) // shows them
		require.Fail(t, "what was read differs from what was written")
	}
}

func (s *suite[T]) roundTrip(t *testing.T, rng *rand.Rand) {
	x := s.filled(t, rng)
	desc, stored := write(t, x)
	y := s.fresh(t)
	read(t, y, desc, io.LimitReader(bytes.NewReader(stored), int64(len(stored))), len(stored))
	s.requireEqual(t, x, y)
}

// writeIsRepeatable finds types that writing drains or changes.
func (s *suite[T]) writeIsRepeatable(t *testing.T, rng *rand.Rand) {
	x := s.filled(t, rng)
	write(t, x)
	desc, stored := write(t, x)
	y := s.fresh(t)
	read(t, y, desc, bytes.NewReader(stored), len(stored))
	s.requireEqual(t, x, y)
}

// reuse reads into a variable that holds something else: larger, smaller, or
// what a failed attempt to read left behind.
func (s *suite[T]) reuse(t *testing.T, rng *rand.Rand) {
	y := s.filled(t, rng)
	for range 3 {
		x := s.filled(t, rng)
		desc, stored := write(t, x)
		resize(t, y, desc)
		_, _ = y.value.ReadFrom(bytes.NewReader(stored[:rng.IntN(len(stored)+1)]))
		read(t, y, desc, bytes.NewReader(stored), len(stored))
		s.requireEqual(t, x, y)
		write(t, y)
	}
}

func (s *suite[T]) sizes(t *testing.T, rng *rand.Rand) {
	x := s.filled(t, rng)
	desc, stored := write(t, x)
	if z, ok := x.value.(cptypes.Sizer); ok {
		require.EqualValues(t, len(stored), z.Size(), "Size is not what WriteTo writes")
	}
	require.NotEmpty(t, desc.Type, "Describe names no type")
	if size := int64(desc.Elem.Size()); size > 0 {
		require.EqualValues(t, len(stored), size*product(desc.Shape), "Describe says another size than WriteTo: %+v", desc)
	}
	if desc.Dist != container.Partitioned {
		require.Nil(t, desc.Global)
		return
	}
	require.Len(t, desc.Global, len(desc.Shape))
	require.Len(t, desc.Box.Lo, len(desc.Shape))
	require.Len(t, desc.Box.Hi, len(desc.Shape))
	for d, n := range desc.Shape {
		require.Equal(t, n, desc.Box.Hi[d]-desc.Box.Lo[d], "the box has another shape than the value")
		require.GreaterOrEqual(t, desc.Box.Lo[d], int64(0))
		require.LessOrEqual(t, desc.Box.Hi[d], desc.Global[d])
	}
}

// spans checks that the memory is what is stored, and that reading into the
// memory restores the value.
func (s *suite[T]) spans(t *testing.T, rng *rand.Rand) {
	x := s.filled(t, rng)
	desc, stored := write(t, x)
	sp, ok := x.value.(cptypes.Spanner)
	if !ok {
		return
	}
	spans, ok := sp.Spans()
	if !ok {
		require.Nil(t, spans)
		return
	}
	require.True(t, bytes.Equal(stored, bytes.Join(spans, nil)), "Spans differ from what WriteTo writes")

	y := s.fresh(t)
	resize(t, y, desc)
	spans, ok = y.value.(cptypes.Spanner).Spans()
	require.True(t, ok, "no Spans to read into what was written with Spans")
	left := stored
	for _, span := range spans {
		require.LessOrEqual(t, len(span), len(left), "Resize made room for more than is stored")
		left = left[copy(span, left):]
	}
	require.Empty(t, left, "Resize made room for less than is stored")
	s.requireEqual(t, x, y)
}
