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
	return [][]byte{
		encodeFile(t, Options{}),
		encodeFile(t, Options{}, spanSection("a", []byte("1")), spanSection("empty"), spanSection("b", noise.bytes(rng, 30))),
		hostileFile(t),
		encodeFile(t, Options{ChunkSize: minChunkSize, Compression: Always}, split, spanSection("smooth", smooth.bytes(rng, 3*minChunkSize))),
		encodeFile(t, Options{}, spanSection("a", []byte("1")), spanSection("large", noise.bytes(rng, alignedChunk))),
	}
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
	f.Fuzz(func(t *testing.T, data []byte, signed bool) {
		if signed {
			data = bytes.Clone(data)
			resign(data)
		}
		n := allocated(func() { exploreFile(t, data) })
		// Chunks of a few bytes may decode to 64 MiB each, and are decoded in
		// several ways.
		require.Less(t, n, int64(64<<20+4000*len(data)))
	})
}

const fuzzSection = 256 << 10 // larger sections are not read as a whole

func exploreFile(t *testing.T, data []byte) {
	_, headerErr := ReadHeader(bytes.NewReader(data), int64(len(data)))
	r, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		requireFormatError(t, err)
		return
	}
	require.NoError(t, headerErr)
	verifyErr := error(nil)
	if largest := maxRaw(r); largest <= fuzzSection {
		if verifyErr = r.Verify(context.Background()); verifyErr != nil {
			requireFormatError(t, verifyErr)
		}
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
	if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrElsewhere) {
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
