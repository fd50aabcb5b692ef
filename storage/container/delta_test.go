package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/craft-go/craft/internal/testseed"
)

// Values that change, grow, shrink, come and go at random, at random grades, and
// versions that fail: what is read is what was written, and the digests are
// those of a full file.
func TestRandomDeltas(t *testing.T) {
	rng := testseed.Rand(t)
	for round := range 12 {
		o := Options{ChunkSize: minChunkSize << (round % 5), Workers: 1 + 3*(round%2), Compression: Compression(round % 3)}
		y := newHistory(t, o)
		raw := make(map[string][]byte)
		grade := make(map[uint64]uint64)
		for i := range 8 {
			raw[fmt.Sprint("value ", i)] = contents(rng.IntN(4)).bytes(rng, rng.IntN(6*o.ChunkSize))
		}
		for range 12 {
			mutate(rng, raw, o.ChunkSize)
			sections := asSections(rng, raw)
			g := rng.Uint64N(8) // three promises, in all combinations
			r := y.write(g, sections...)
			y.requireRead(r, raw)
			y.requireNoChains(r)
			require.Equal(t, y.h.Version, r.Header().Version)
			for _, v := range r.Refs() {
				require.Equal(t, g, grade[v]&g)
				require.GreaterOrEqual(t, v, r.Header().Oldest)
			}
			full := openFile(t, encodeFile(t, o, sectionsOf(raw)...))
			for _, info := range r.Sections() {
				require.Equal(t, sectionOf(t, full, info.Key).Info().Digest, info.Digest)
			}
			switch rng.IntN(8) {
			case 0:
				y.d.Drop()
				delete(y.files, y.h.Version)
			case 1:
				grade[y.h.Version] = g & (g - 1)
				y.d.Keep(y.h.Version, g&(g-1))
			default:
				grade[y.h.Version] = g
				y.d.Keep(y.h.Version, allPromises)
			}
		}
	}
}

// mutate changes some of the values.
func mutate(rng *rand.Rand, raw map[string][]byte, chunkSize int) {
	for key, p := range raw {
		switch rng.IntN(8) {
		case 0:
			raw[key] = noise.bytes(rng, rng.IntN(6*chunkSize))
		case 1:
			raw[key] = p[:rng.IntN(len(p)+1)]
		case 2:
			raw[key] = append(bytes.Clone(p), zeroes.bytes(rng, rng.IntN(2*chunkSize))...)
		case 3, 4:
			if len(p) > 0 {
				p = bytes.Clone(p)
				p[rng.IntN(len(p))] ^= 1 << rng.IntN(8)
				raw[key] = p
			}
		case 5:
			if rng.IntN(4) == 0 {
				delete(raw, key)
				raw[fmt.Sprint("new ", rng.Uint64())] = noise.bytes(rng, rng.IntN(2*chunkSize))
			}
		}
	}
}

func sectionsOf(raw map[string][]byte) []Section {
	var sections []Section
	for key, p := range raw {
		sections = append(sections, spanSection(key, p))
	}
	return sections
}

// asSections hands over values in all ways, in random order.
func asSections(rng *rand.Rand, raw map[string][]byte) []Section {
	sections := sectionsOf(raw)
	for i := range sections {
		s := &sections[i]
		p := s.Spans[0]
		switch rng.IntN(4) {
		case 0:
			s.Spans, s.Source = nil, pieceSource{p, rng.Uint64()}
		case 1:
			s.Spans = cutSpans(rng, p, 1+len(p)/3)
		case 2:
			s.Spans = cutSpans(rng, p, 1+len(p)/100)
		}
	}
	return sections
}

// A file without references is one of format 1.0, byte for byte.
func TestFullVersionOfADelta(t *testing.T) {
	rng := testseed.Rand(t)
	s := spanSection("a", noise.bytes(rng, 3*minChunkSize))
	y := newHistory(t, Options{ChunkSize: minChunkSize})
	y.keep(0, s)
	require.Equal(t, encodeAt(t, y, s), y.files[1])
	require.Equal(t, u16(0), y.files[1][14:16])
	y.keep(0, s)
	require.Equal(t, u16(1), y.files[2][14:16])
	require.EqualValues(t, 1, y.header(2).Oldest)
	y.d.Reset()
	y.keep(0, s)
	require.Equal(t, encodeAt(t, y, s), y.files[3])
}

// encodeAt encodes the present version in full.
func encodeAt(t testing.TB, y *history, sections ...Section) []byte {
	var b bytes.Buffer
	_, err := y.e.Encode(context.Background(), &b, y.h, sections)
	require.NoError(t, err)
	return b.Bytes()
}

func TestUnchangedChunksAreNotWritten(t *testing.T) {
	rng := testseed.Rand(t)
	for _, workers := range []int{1, 4} {
		y := newHistory(t, Options{ChunkSize: 64 << 10, Workers: workers})
		raw := noise.bytes(rng, 100*64<<10)
		small := noise.bytes(rng, 5000)
		number := []byte{1, 2, 3, 4}
		sections := []Section{spanSection("large", raw), spanSection("small", small), spanSection("number", number)}
		y.keep(0, sections...)
		require.Equal(t, Stats{RawBytes: int64(len(raw)) + 5004, FileBytes: int64(len(y.files[1])), Chunks: 102}, y.stats)
		raw[17*64<<10+5] ^= 1
		r := y.keep(0, sections...)
		require.Equal(t, Stats{RawBytes: 64<<10 + 4, FileBytes: int64(len(y.files[2])), Chunks: 2}, y.stats)
		require.Less(t, len(y.files[2]), len(y.files[1])*2/100)
		info := r.Sections()[0]
		require.EqualValues(t, 64<<10, info.Stored)
		require.EqualValues(t, 99*64<<10, info.Refers)
		require.False(t, info.Split)
		require.Equal(t, []uint64{1}, r.Refs())
		y.requireRead(r, map[string][]byte{"large": raw, "small": small, "number": number})

		// References are to where the bytes are, and only to what is needed.
		r = y.keep(0, sections...)
		require.Equal(t, []uint64{1, 2}, r.Refs())
		clear(raw)
		small[0]++
		r = y.keep(0, sections...)
		require.Empty(t, r.Refs())
		r = y.keep(0, sections...)
		require.Equal(t, []uint64{4}, r.Refs())
		require.EqualValues(t, 4, r.Header().Oldest)
	}
}

// A version refers to versions that keep all of its promises.
func TestGrades(t *testing.T) {
	s := spanSection("a", noise.bytes(testseed.Rand(t), 3*minChunkSize))
	y := newHistory(t, Options{ChunkSize: minChunkSize})
	refs := func(grade uint64) []uint64 { return y.keep(grade, s).Refs() }
	require.Empty(t, refs(0b11))                // 1
	require.Equal(t, []uint64{1}, refs(0b01))   // 2
	require.Equal(t, []uint64{1}, refs(0))      // 3
	require.Empty(t, refs(0b111))               // 4
	require.Equal(t, []uint64{4}, refs(0b11))   // 5: all that is older is no better
	require.Equal(t, []uint64{4}, refs(0b111))  // 6
	require.Empty(t, refs(0b1111))              // 7
	require.Equal(t, []uint64{7}, refs(0))      // 8
	require.Empty(t, refs(0b10000))             // 9: which promises something else
	require.Equal(t, []uint64{7}, refs(0b1000)) // 10
	require.Equal(t, []uint64{9}, refs(0b10000))
	require.Empty(t, refs(0b11000)) // nobody promises both

	// A version that is less safe than it should be.
	y.d.Reset()
	y.write(0b111, s) // 13
	y.d.Keep(13, 0b1)
	require.Empty(t, refs(0b111)) // 14
	y.d.Reset()
	y.write(0b111, s) // 15
	y.d.Keep(15, 0b1)
	require.Equal(t, []uint64{15}, refs(0b1))
	// And one that is safer than it was encoded for.
	y.d.Reset()
	y.write(0b1, s) // 17
	y.d.Keep(17, allPromises)
	require.Empty(t, refs(0b111))
}

func TestVersionsThatAreNotKept(t *testing.T) {
	rng := testseed.Rand(t)
	raw := noise.bytes(rng, 3*minChunkSize)
	s := spanSection("a", raw)
	y := newHistory(t, Options{ChunkSize: minChunkSize})
	next := func() []uint64 { return y.write(0, s).Refs() }

	require.Empty(t, next())
	y.d.Drop() // 1
	require.Empty(t, next())
	require.Empty(t, next(), "neither kept nor dropped") // 2
	y.d.Keep(2, allPromises)                             // not the last one
	require.Empty(t, next())
	y.d.Keep(4, allPromises)
	raw[0]++
	require.Equal(t, []uint64{4}, next())
	y.d.Drop() // 5
	require.Equal(t, []uint64{4}, next())
	y.d.Keep(6, allPromises)
	require.Equal(t, []uint64{4, 6}, next())
	y.d.Reset()
	y.d.Keep(7, allPromises)
	require.Empty(t, next(), "encoded before the reset")

	// An encode that fails is as if it had not been.
	y.d.Keep(8, allPromises)
	y.h.Version++
	mine := errors.New("full")
	w := hookedWriter{before: func(int, []byte) (int, error) { return 0, mine }}
	_, err := y.e.EncodeDelta(context.Background(), &w, y.h, []Section{s}, y.d, 0)
	require.ErrorIs(t, err, mine)
	y.d.Keep(9, allPromises)
	require.Equal(t, []uint64{8}, next())
	y.d.Keep(10, allPromises)
	y.h.Version++
	require.Panics(t, func() {
		_, _ = y.e.EncodeDelta(context.Background(), io.Discard, y.h, []Section{{Key: "a", Source: sourceFunc(func(io.Writer) (int64, error) { panic("mine") })}}, y.d, 0)
	})
	require.Equal(t, []uint64{8}, next())
}

// Another attempt, rank, number of ranks or checkpoint, or a number that is not
// higher: nothing is referred to.
func TestDeltaOfAnotherIdentity(t *testing.T) {
	s := spanSection("a", noise.bytes(testseed.Rand(t), 3*minChunkSize))
	for name, change := range map[string]func(h *Header){
		"attempt": func(h *Header) { h.Attempt[0]++ },
		"rank":    func(h *Header) { h.Rank++ },
		"ranks":   func(h *Header) { h.Size++ },
		"name":    func(h *Header) { h.Name += "x" },
		"version": func(h *Header) { h.Version-- },
		"nothing": func(*Header) {},
	} {
		y := newHistory(t, Options{ChunkSize: minChunkSize})
		y.keep(0, s)
		change(&y.h)
		require.Equal(t, name == "nothing", len(y.keep(0, s).Refs()) > 0, name)
	}
}

func TestDeltaArguments(t *testing.T) {
	y := newHistory(t, Options{})
	var second error
	s := Section{Key: "a", Desc: Desc{Elem: Opaque}, Source: sourceFunc(func(io.Writer) (int64, error) {
		y.d.Keep(1, allPromises)
		y.d.Drop()
		_, second = newTestEncoder(t, Options{}).EncodeDelta(context.Background(), io.Discard, someHeader(), nil, y.d, 0)
		return 0, nil
	})}
	y.keep(0, s)
	require.ErrorIs(t, second, ErrInvalid)
	require.Len(t, y.d.views, 1)
	require.EqualValues(t, 1, y.d.views[0].version)
	// Without a Delta it is Encode.
	h := someHeader()
	h.Oldest = 3
	var a, b bytes.Buffer
	_, err := y.e.EncodeDelta(context.Background(), &a, h, nil, nil, 0)
	require.NoError(t, err)
	_, err = y.e.Encode(context.Background(), &b, someHeader(), nil)
	require.NoError(t, err)
	require.Equal(t, b.Bytes(), a.Bytes())
}

// Reset may come while a version is encoded.
func TestResetWhileEncoding(t *testing.T) {
	raw := noise.bytes(testseed.Rand(t), 3*minChunkSize)
	y := newHistory(t, Options{ChunkSize: minChunkSize})
	during := func() {}
	write := func() []uint64 {
		call := Section{Key: "call", Desc: Desc{Elem: Opaque}, Source: sourceFunc(func(io.Writer) (int64, error) { during(); return 0, nil })}
		r := y.keep(0, call, spanSection("a", raw))
		y.requireRead(r, map[string][]byte{"call": {}, "a": raw})
		return r.Refs()
	}
	require.Empty(t, write()) // 1
	raw[0]++
	require.Equal(t, []uint64{1}, write()) // 2
	during = y.d.Reset
	require.Equal(t, []uint64{1, 2}, write()) // 3: what was known when it began
	during = func() {}
	require.Empty(t, write()) // 4
	require.Equal(t, []uint64{4}, write())
}

// Chunks that are in other ranks' files stay there, and are referred to when
// they were in this one.
func TestDeltaOfSplitSections(t *testing.T) {
	rng := testseed.Rand(t)
	raw := noise.bytes(rng, 6*minChunkSize+3)
	const ranks = 3
	var ys [ranks]*history
	for rank := range ys {
		ys[rank] = newHistory(t, Options{ChunkSize: minChunkSize})
		ys[rank].h.Rank, ys[rank].h.Size = rank, ranks
	}
	for version := range 4 {
		var parts []*SectionReader
		for rank, y := range ys {
			s := spanSection("table", raw)
			s.Desc.Dist = Replicated
			s.Stores = func(c int) bool { return c%ranks == rank }
			r := y.keep(0, s)
			require.NoError(t, r.Verify(context.Background()))
			require.NoError(t, r.VerifyReferences(context.Background()))
			require.True(t, r.Sections()[0].Split)
			parts = append(parts, sectionOf(t, r, "table"))
		}
		joined, err := Join(parts)
		require.NoError(t, err)
		require.False(t, joined.Info().Split)
		require.EqualValues(t, len(raw), joined.Info().Stored+joined.Info().Refers)
		require.Equal(t, version > 0, joined.Info().Refers > 0)
		got, err := readAll(joined)
		require.NoError(t, err)
		requireSame(t, raw, got, "table")
		raw[rng.IntN(len(raw))]++
	}
	// Another distribution over the ranks.
	s := spanSection("table", raw)
	r := ys[0].keep(0, s)
	ys[0].requireRead(r, map[string][]byte{"table": raw})
}

// The same history makes the same bytes, whatever the number of workers.
func TestDeltasAreTheSameForAnyNumberOfWorkers(t *testing.T) {
	rng := testseed.Rand(t)
	raw := patches.bytes(rng, 40*alignedChunk+17)
	changed := bytes.Clone(raw)
	for range 5 {
		changed[rng.IntN(len(raw))]++
	}
	var want map[uint64][]byte
	for _, workers := range []int{1, 2, 8} {
		y := newHistory(t, Options{ChunkSize: alignedChunk, Workers: workers})
		for _, p := range [][]byte{raw, changed, raw} {
			y.keep(0, spanSection("a", cutSpans(rng, p, 100_000)...), spanSection("b", rows(p, 24)...), spanSection("c", p[:20_000]))
		}
		if want == nil {
			want = y.files
		}
		require.Equal(t, want, y.files)
	}
}

// The hash of pieces is that of the whole.
func TestHashOfPieces(t *testing.T) {
	rng := testseed.Rand(t)
	var c compressor
	for range 300 {
		p := noise.bytes(rng, rng.IntN(5000))
		spans := cutSpans(rng, p, 1+rng.IntN(2000))
		require.Equal(t, xxh3.Hash128(p), c.hash(memory{spans, 0, len(p)}))
	}
}

// What is remembered is bounded, and made once.
func TestDeltaMemoryIsBounded(t *testing.T) {
	raw := make([]byte, 24<<20)
	sections := []Section{
		{Key: "source", Desc: Desc{Elem: Opaque}, Source: zeroSource(len(raw))},
		spanSection("rows", rows(raw, 24)...),
		spanSection("plain", raw),
	}
	const chunks = 3 * 24 << 20 / minChunkSize
	e, d, h := newTestEncoder(t, Options{ChunkSize: minChunkSize, Workers: 4, Compression: Off}), NewDelta(), someHeader()
	encode := func() {
		h.Version++
		_, err := e.EncodeDelta(context.Background(), io.Discard, h, sections, d, 0)
		require.NoError(t, err)
		d.Keep(h.Version, allPromises)
		raw[0]++
	}
	for range 3 {
		encode()
	}
	delta := allocated(encode)
	plain := allocated(func() {
		_, err := e.Encode(context.Background(), io.Discard, h, sections)
		require.NoError(t, err)
	})
	// The source makes 1 MiB each time; new views would take 700 KiB.
	require.Less(t, delta, plain+300_000)
	for _, v := range d.views {
		require.Len(t, v.chunks, chunks)
	}
	kept := len(d.views)
	if d.spare != nil {
		kept++
	}
	require.LessOrEqual(t, kept, 2)
}
