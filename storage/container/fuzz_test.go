package container

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// fuzzFiles are small files with all there is in the format.
func fuzzFiles(t testing.TB) [][]byte {
	rng := rand.New(rand.NewPCG(1, 0))
	split := spanSection("split", noise.bytes(rng, 2*minChunkSize))
	split.Desc.Dist = Replicated
	split.Stores = func(c int) bool { return c == 1 }
	tagged := someHeader()
	tagged.Fields = Fields{{1, []byte{1}}, {2, nil}, {300, noise.bytes(rng, 50)}}
	return [][]byte{
		encodeFile(t, Options{}),
		encodeFile(t, Options{}, spanSection("a", []byte("1")), spanSection("empty"), spanSection("b", noise.bytes(rng, 30))),
		hostileFile(t),
		encodeFile(t, Options{ChunkSize: minChunkSize, Compression: Always}, split, spanSection("smooth", smooth.bytes(rng, 3*minChunkSize))),
		encodeFile(t, Options{}, spanSection("a", []byte("1")), spanSection("large", noise.bytes(rng, alignedChunk))),
		fuzzDeltas(t).files[2],
		fuzzDeltas(t).files[3],
		encodeHeader(t, tagged, spanSection("a", []byte("1"))),
	}
}

// fuzzDeltas are always the same files with references.
func fuzzDeltas(t testing.TB) *history {
	y, _ := deltaFiles(t, rand.New(rand.NewPCG(1, 0)))
	return y
}

// FuzzOpen opens arbitrary bytes and reads all that they hold. With signed, the
// checksums are made right first, so that changes reach what is behind them.
func FuzzOpen(f *testing.F) {
	for _, data := range fuzzFiles(f) {
		f.Add(data, false)
		f.Add(data, true)
		f.Add(data[:len(data)-9], false)
	}
	f.Add([]byte(magic), true)
	older := fuzzDeltas(f).resolve
	f.Fuzz(func(t *testing.T, data []byte, signed bool) {
		if signed {
			data = bytes.Clone(data)
			resign(data)
		}
		n := allocated(func() { exploreFile(t, data, older) })
		// Chunks of a few bytes may decode to 64 MiB each, and are decoded in
		// several ways.
		require.Less(t, n, int64(64<<20+4000*len(data)))
	})
}

const fuzzSection = 256 << 10 // larger sections are not read as a whole

func exploreFile(t *testing.T, data []byte, older func(version uint64) (*Reader, error)) {
	_, headerErr := ReadHeader(bytes.NewReader(data), int64(len(data)))
	r, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		requireFormatError(t, err)
		return
	}
	require.NoError(t, headerErr)
	h := r.Header()
	require.Empty(t, h.problem())
	require.True(t, slices.IsSorted(r.Refs()))
	r.ResolveBy(older)
	verifyErr := error(nil)
	if largest := maxRaw(r); largest <= fuzzSection {
		for _, verify := range []func(context.Context) error{r.Verify, r.VerifyReferences} {
			if err := verify(context.Background()); err != nil {
				requireFormatError(t, err)
				verifyErr = err
			}
		}
		_, err := openAny(sourcesOf(data[:len(data)/2], data))
		require.NoError(t, err)
	}
	for _, info := range r.Sections() {
		require.LessOrEqual(t, info.Stored, int64(len(data)))
		require.NotEmpty(t, info.Desc.String())
		s := sectionOf(t, r, info.Key)
		_, err := Join([]*SectionReader{s, s})
		require.Equal(t, info.Split, errors.Is(err, ErrElsewhere))
		if info.Size <= fuzzSection {
			exploreSection(t, s, verifyErr)
		}
	}
}

func maxRaw(r *Reader) (largest int) {
	for i := range r.x.entries {
		for c := range r.x.chunksOf(&r.x.entries[i]) {
			largest = max(largest, r.x.entries[i].geom.rawLen(c))
		}
	}
	return largest
}

// exploreSection reads a section in all ways, which must agree with each other
// and with what Verify said.
func exploreSection(t *testing.T, s *SectionReader, verifyErr error) {
	want, err := readAll(s)
	if err != nil {
		requireFormatError(t, err)
		require.True(t, verifyErr != nil || s.Info().Split, "Verify found nothing: %v", err)
	}
	got, err2 := io.ReadAll(s.NewReader(context.Background()))
	require.Equal(t, err == nil, err2 == nil)
	if err != nil {
		return
	}
	requireSame(t, want, got, "NewReader")
	scattered := make([]byte, len(want))
	require.NoError(t, s.ReadSpans(context.Background(), rows(scattered, 1000)))
	requireSame(t, want, scattered, "ReadSpans")
	for _, off := range []int{0, len(want) / 3, max(0, len(want)-5)} {
		p := make([]byte, min(9, len(want)-off))
		_, err := s.ReadAt(p, int64(off))
		require.NoError(t, err)
		requireSame(t, want[off:off+len(p)], p, "ReadAt")
	}
}

// requireFormatError accepts what wrong bytes may lead to, and nothing else.
func requireFormatError(t *testing.T, err error) {
	if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrElsewhere) && !errors.Is(err, ErrReference) {
		require.NoError(t, err)
	}
}

// FuzzRoundTrip stores bytes in several ways and reads them back.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("hello"), uint64(1), uint8(0), uint8(0), uint16(1))
	f.Add(bytes.Repeat([]byte{1, 2, 3}, 100), uint64(2), uint8(1), uint8(7), uint16(1000))
	f.Add([]byte{0}, uint64(3), uint8(2), uint8(3), uint16(20_000))
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64, mode, workers uint8, repeat uint16) {
		rng := rand.New(rand.NewPCG(seed, 0))
		for times := int(repeat); times > 1 && len(raw)*times > 128<<10; {
			times /= 2
			repeat = uint16(times)
		}
		raw = bytes.Repeat(raw, max(1, int(repeat)))
		o := Options{ChunkSize: minChunkSize << (seed % 6), Workers: 1 + int(workers%8), Compression: Compression(mode % 3)}
		parts := 1 + int(seed%3)
		split := spanSection("split", cutSpans(rng, raw, 1+len(raw)/2)...)
		own := spanSection("own", cutSpans(rng, raw, 1+rng.IntN(1+len(raw)/3))...)
		source := Section{Key: "source", Desc: Desc{Elem: Opaque, Type: "x"}, Source: pieceSource{raw, seed}}
		var views []*SectionReader
		for rank := range parts {
			split.Stores = func(c int) bool { return c%parts == rank }
			data := encodeFile(t, o, own, split, source)
			r := openFile(t, data)
			require.NoError(t, r.Verify(context.Background()))
			views = append(views, sectionOf(t, r, "split"))
			for _, key := range []string{"own", "source"} {
				exploreSection(t, sectionOf(t, r, key), nil)
				got, err := readAll(sectionOf(t, r, key))
				require.NoError(t, err)
				requireSame(t, raw, got, key)
			}
		}
		slices.Reverse(views)
		joined, err := Join(views)
		require.NoError(t, err)
		got, err := readAll(joined)
		require.NoError(t, err)
		requireSame(t, raw, got, "split")
	})
}

// another reports whether a source may be taken for that of another file: one with a
// good header of its own, or with the good trailer of one that has the same header.
func another(want *Reader, data []byte) bool {
	r := &Reader{header: want.header, headerCRC: want.headerCRC, headerEnd: want.headerEnd, sources: &sources{open: sourcesOf(data)}}
	r.sources.first = r.sources.openSource(0)
	src, _ := r.sources.get(0)
	if _, encoded, err := src.readHeader(); err == nil && headerChecksum(encoded) != want.headerCRC {
		return true
	}
	_, _, err := r.findTrailer()
	return err == nil && r.trailer != want.trailer
}

// FuzzSources opens two sources with any bytes: what is read of them is what one
// of them, or both together, hold.
func FuzzSources(f *testing.F) {
	for i, data := range fuzzFiles(f) {
		f.Add(i, data[:len(data)-9], data[len(data)/3:], 3)
		f.Add(i, data, []byte{}, -1)
	}
	files := fuzzFiles(f)
	older := fuzzDeltas(f).resolve
	f.Fuzz(func(t *testing.T, which int, first, second []byte, flip int) {
		good := files[uint(which)%uint(len(files))]
		want := openFile(t, good)
		want.ResolveBy(older)
		last := good
		if flip >= 0 {
			last = flipped(good, flip%len(good))
		}
		r, err := openAny(sourcesOf(first, second, last))
		if err == nil {
			err = r.Verify(context.Background())
		}
		if err != nil {
			requireFormatError(t, err)
			mixed := another(want, first) || another(want, second)
			require.True(t, flip >= 0 || mixed || errors.Is(err, ErrUnsupported), "the last source is good: %v", err)
			return
		}
		if r.headerCRC != want.headerCRC || r.trailer != want.trailer {
			return // a good file of its own
		}
		r.ResolveBy(older)
		for _, info := range want.Sections() {
			if info.Split {
				continue
			}
			a, err := readAll(sectionOf(t, want, info.Key))
			require.NoError(t, err)
			b, err := readAll(sectionOf(t, r, info.Key))
			require.NoError(t, err)
			requireSame(t, a, b, info.Key)
		}
	})
}

// FuzzDelta writes two versions and reads the second one back.
func FuzzDelta(f *testing.F) {
	f.Add([]byte("hello"), []byte("hello"), uint16(2000), uint16(3000), uint64(1))
	f.Add([]byte{0}, []byte{0, 1}, uint16(20_000), uint16(20_000), uint64(5))
	f.Fuzz(func(t *testing.T, a, b []byte, repeatA, repeatB uint16, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		bound := func(p []byte, times uint16) []byte {
			return bytes.Repeat(p, min(int(times), (128<<10)/(len(p)+1)))
		}
		a, b = bound(a, repeatA), bound(b, repeatB)
		y := newHistory(t, Options{ChunkSize: minChunkSize << (seed % 3), Workers: 1 + int(seed%4), Compression: Compression(seed / 3 % 3)})
		for _, raw := range [][]byte{a, b, a} {
			source := Section{Key: "source", Desc: Desc{Elem: Opaque, Type: "x"}, Source: pieceSource{raw, seed}}
			r := y.keep(uint64(seed%2), source, spanSection("own", cutSpans(rng, raw, 1+len(raw)/3)...))
			y.requireRead(r, map[string][]byte{"source": raw, "own": raw})
		}
	})
}
