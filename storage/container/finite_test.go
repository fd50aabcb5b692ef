package container

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// Patterns at the edges of what is finite, as float64 and as float32.
var (
	finite64 = []uint64{0, 1, 1 << 63, math.Float64bits(math.MaxFloat64), math.Float64bits(-math.MaxFloat64), 0x000fffff_ffffffff, 0x800fffff_ffffffff, math.Float64bits(-1)}
	wrong64  = []uint64{math.Float64bits(math.Inf(1)), math.Float64bits(math.Inf(-1)), 0x7ff00000_00000001, 0xfff00000_00000001, 0x7fffffff_ffffffff, math.MaxUint64}
	finite32 = []uint32{0, 1, 1 << 31, math.Float32bits(math.MaxFloat32), math.Float32bits(-math.MaxFloat32), 0x007fffff, 0x807fffff, math.Float32bits(-1)}
	wrong32  = []uint32{0x7f800000, 0xff800000, 0x7f800001, 0xff800001, 0x7fffffff, math.MaxUint32}
)

func oneOf[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// putFloat puts a number of 4 or 8 bytes that is finite, or one that is not.
func putFloat(rng *rand.Rand, p []byte, finite bool) {
	switch {
	case len(p) == 4 && finite:
		le.PutUint32(p, oneOf(rng, append(finite32, math.Float32bits(rng.Float32()))))
	case len(p) == 4:
		le.PutUint32(p, oneOf(rng, wrong32))
	case finite:
		le.PutUint64(p, oneOf(rng, append(finite64, math.Float64bits(rng.NormFloat64()))))
	default:
		le.PutUint64(p, oneOf(rng, wrong64))
	}
}

func TestFirstNotFinite(t *testing.T) {
	rng := testseed.Rand(t)
	for _, size := range []int{4, 8} {
		for range 1000 {
			n, shift := rng.IntN(70), rng.IntN(8)
			p := make([]byte, shift+n*size)[shift:] // not aligned
			want := -1
			for i := range n {
				finite := rng.IntN(60) > 0
				putFloat(rng, p[i*size:][:size], finite)
				if !finite && want < 0 {
					want = i * size
				}
			}
			require.Equal(t, want, firstNotFinite(p, size), "%d numbers of %d bytes", n, size)
			whole, unsigned, exponent := p[:len(p)&^63], uint64(unsigned64), uint64(exponent64)
			if size == 4 {
				unsigned, exponent = unsigned32, exponent32
			}
			require.Equal(t, want >= 0 && want < len(whole), hasOverPlain(whole, unsigned, exponent), "on other processors")
			s := finiteScan{size: size, found: -1}
			for _, piece := range cutSpans(rng, p, 1+rng.IntN(40)) {
				s.add(piece)
			}
			require.Equal(t, want, s.found, "in pieces")
		}
	}
}

// floats makes elements, of which some are not finite, and says which is the first.
func floats(rng *rand.Rand, elem Elem, n, wrong int) (raw []byte, first int64) {
	raw, first = make([]byte, n*elem.Size()), -1
	size := elem.floatSize()
	for at := 0; at < len(raw); at += size {
		putFloat(rng, raw[at:][:size], true)
	}
	for range wrong {
		at := rng.IntN(len(raw)/size) * size
		switch rng.IntN(4) {
		case 0:
			at = 0
		case 1:
			at = len(raw) - size
		}
		putFloat(rng, raw[at:][:size], false)
		if i := int64(at / elem.Size()); first < 0 || i < first {
			first = i
		}
	}
	return raw, first
}

// hand gives a value to the encoder in one of the ways that there are.
func hand(rng *rand.Rand, raw []byte, s *Section, chunk int) {
	switch rng.IntN(5) {
	case 0:
		s.Spans = [][]byte{raw}
	case 1:
		s.Spans = cutSpans(rng, raw, 1+rng.IntN(len(raw)+1))
		s.Volatile = rng.IntN(2) == 0
	case 2:
		s.Source = pieceSource{raw, rng.Uint64()}
	case 3:
		l := new(lender)
		l.add(raw, chunk)
		s.Feed = l
	case 4:
		s.Spans = [][]byte{raw}
		s.Stores = func(c int) bool { return c%3 == 1 } // the others are looked at all the same
	}
}

// Whatever the elements are, and wherever: the first that is not finite, of the first value
// that has one, is named; and if there is none the file is the same as without a look.
func TestFinite(t *testing.T) {
	rng := testseed.Rand(t)
	elems := []Elem{Float32, Float64, Complex64, Complex128}
	refused := 0
	for round := range 100 {
		o := Options{ChunkSize: minChunkSize << rng.IntN(4), Workers: 1 + round%3, Compression: Compression(rng.IntN(3))}
		seen := rng.IntN(4) > 0 // values that are not looked at have all that is wrong
		var sections []Section
		var want *NotFiniteError
		for i := range 1 + rng.IntN(6) {
			elem := oneOf(rng, elems)
			n := 1 + rng.IntN([]int{3, 300, 8 * o.ChunkSize / elem.Size()}[rng.IntN(3)])
			s := Section{Key: fmt.Sprint("value ", i), Desc: Desc{Elem: elem, Shape: []int64{int64(n)}}, Finite: seen || rng.IntN(2) == 0}
			wrong := 0
			if !s.Finite || rng.IntN(6) == 0 {
				wrong = 1 + rng.IntN(3)
			}
			raw, first := floats(rng, elem, n, wrong)
			if s.Finite && first >= 0 && want == nil {
				want = &NotFiniteError{s.Key, first, formatFloat(elem, raw[first*int64(elem.Size()):])}
			}
			hand(rng, raw, &s, o.ChunkSize)
			sections = append(sections, s)
		}
		var b bytes.Buffer
		_, err := newTestEncoder(t, o).Encode(context.Background(), &b, someHeader(), sections)
		if want != nil {
			refused++
			require.ErrorIs(t, err, ErrNotFinite)
			require.Equal(t, want, err)
			continue
		}
		require.NoError(t, err)
		for i := range sections {
			if l, ok := sections[i].Feed.(*lender); ok {
				l.next = len(l.pieces)
				require.Equal(t, len(l.pieces), l.back)
			}
		}
		require.NoError(t, openFile(t, b.Bytes()).Verify(context.Background()))
	}
	require.Greater(t, refused, 5)
}

func TestFiniteDoesNotChangeTheFile(t *testing.T) {
	rng := testseed.Rand(t)
	raw, _ := floats(rng, Float64, 100_000, 0)
	s := Section{Key: "v", Desc: Desc{Elem: Float64, Shape: []int64{100_000}}, Spans: [][]byte{raw}}
	want := encodeFile(t, Options{ChunkSize: minChunkSize}, s)
	s.Finite = true
	requireSame(t, want, encodeFile(t, Options{ChunkSize: minChunkSize}, s), "with a look")
}

func TestNotFiniteText(t *testing.T) {
	inf32, nan := float32(math.Inf(1)), math.NaN()
	for want, s := range map[string]Section{
		"element 1 is NaN":       floatSection(Float64, 1.0, nan),
		"element 0 is -Inf":      floatSection(Float64, math.Inf(-1), nan),
		"element 2 is +Inf":      floatSection(Float32, float32(1), float32(2), inf32),
		"element 1 is (1+Infi)":  floatSection(Complex64, float32(1), float32(2), float32(1), inf32),
		"element 0 is (NaN+2i)":  floatSection(Complex128, nan, 2.0),
		"element 0 is (-1+NaNi)": floatSection(Complex128, -1.0, nan),
	} {
		_, err := newTestEncoder(t, Options{}).Encode(context.Background(), io.Discard, someHeader(), []Section{s})
		require.EqualError(t, err, `container: section "v": `+want+", which is not finite")
	}
}

func floatSection(elem Elem, numbers ...any) Section {
	var raw []byte
	for _, x := range numbers {
		switch x := x.(type) {
		case float32:
			raw = le.AppendUint32(raw, math.Float32bits(x))
		case float64:
			raw = le.AppendUint64(raw, math.Float64bits(x))
		}
	}
	return Section{Key: "v", Desc: Desc{Elem: elem, Shape: []int64{int64(len(raw) / elem.Size())}}, Spans: [][]byte{raw}, Finite: true}
}

// A Source that ends within an element is another mistake, and nothing is read beyond its end.
func TestFiniteOfHalfAnElement(t *testing.T) {
	s := floatSection(Complex128, 1.0, 2.0, math.NaN())
	raw := s.Spans[0]
	s.Desc.Shape[0], s.Spans = 1, nil
	s.Source = pieceSource{raw, 1}
	_, err := newTestEncoder(t, Options{}).Encode(context.Background(), io.Discard, someHeader(), []Section{s})
	require.ErrorIs(t, err, ErrInvalid)
	_, bad := inspection{of: &s}.checksum(memory{spans: [][]byte{raw}, n: len(raw)})
	require.Equal(t, &NotFiniteError{"v", 1, "(NaN+0i)"}, bad)
	_, bad = inspection{of: &s}.checksum(memory{spans: [][]byte{raw}, n: len(raw) - 3})
	require.Nil(t, bad)
}

// What is not written again has been looked at, when it was written or now.
func TestFiniteOfADelta(t *testing.T) {
	rng := testseed.Rand(t)
	for _, chunk := range []int{4 << 10, 64 << 10} { // in batches and alone
		n := 20 * chunk / 8
		good, _ := floats(rng, Float64, n, 0)
		bad := bytes.Clone(good)
		putFloat(rng, bad[8*(n-1):], false)
		of := func(raw []byte, elem Elem, finite bool) Section {
			return Section{Key: "v", Desc: Desc{Elem: elem, Shape: []int64{int64(len(raw) / elem.Size())}}, Spans: [][]byte{raw}, Finite: finite}
		}
		refused := func(y *history, s Section) {
			t.Helper()
			h := y.h
			h.Version++
			_, err := y.e.EncodeDelta(context.Background(), io.Discard, h, []Section{s}, y.d, 0)
			require.ErrorIs(t, err, ErrNotFinite)
		}
		y := newHistory(t, Options{ChunkSize: chunk})
		y.keep(0, of(bad, Float64, false))
		refused(y, of(bad, Float64, true)) // nobody has looked
		y.keep(0, of(bad, Float64, false))
		require.Zero(t, y.stats.Chunks)

		y.keep(0, of(good, Float64, true))
		y.keep(0, of(good, Float64, true))
		require.Zero(t, y.stats.Chunks, "what has passed once is not written again")
		y.keep(0, of(good, Float64, true))
		require.Zero(t, y.stats.Chunks, "nor for the second time")
		refused(y, of(bad, Float64, true))
		y.keep(0, of(good, Float64, true))
		require.Zero(t, y.stats.Chunks, "after a refusal all is as before")

		whole := make([]byte, n*8) // each a small float64, and half of it no float32
		for i := range n {
			le.PutUint64(whole[8*i:], 0x7f800000)
		}
		y.keep(0, of(whole, Float64, true))
		refused(y, of(whole, Float32, true))
	}
}

func TestFiniteOfWhatIsNoFloat(t *testing.T) {
	for _, d := range []Desc{{Elem: Int64, Shape: []int64{1}}, {Elem: Opaque, Type: "main.Grid"}, {Elem: Bool}} {
		s := Section{Key: "v", Desc: d, Spans: [][]byte{make([]byte, max(d.Elem.Size(), 1))}, Finite: true}
		_, err := newTestEncoder(t, Options{}).Encode(context.Background(), io.Discard, someHeader(), []Section{s})
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorContains(t, err, d.String())
		require.ErrorContains(t, err, "allowed: float32")
	}
}

// A look allocates nothing, in batches and alone.
func TestFiniteAllocatesNothing(t *testing.T) {
	values := [][]byte{make([]byte, 8), make([]byte, 100<<10), make([]byte, 600<<10)}
	allocs := func(finite bool) float64 {
		e := newTestEncoder(t, Options{ChunkSize: 64 << 10, Workers: 1})
		var sections []Section
		for i, raw := range values {
			s := Section{Key: fmt.Sprint(i), Desc: Desc{Elem: Float64, Shape: []int64{int64(len(raw) / 8)}}, Spans: [][]byte{raw}, Finite: finite}
			sections = append(sections, s)
		}
		return testing.AllocsPerRun(20, func() {
			_, err := e.Encode(context.Background(), io.Discard, someHeader(), sections)
			require.NoError(t, err)
		})
	}
	require.LessOrEqual(t, allocs(true), allocs(false))
}
