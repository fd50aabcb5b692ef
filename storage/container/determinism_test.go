package container

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// The same input makes the same bytes, whatever the number of workers and
// whatever the encoder did before.
func TestSameBytesForAnyNumberOfWorkers(t *testing.T) {
	rng := testseed.Rand(t)
	for _, chunkSize := range []int{minChunkSize, 64 << 10, 1 << 20} {
		sections, _ := randomSections(rng, chunkSize)
		for i := range sections {
			if i%5 == 0 {
				sections[i].Stores = func(c int) bool { return c%3 == 1 }
			}
		}
		for _, compression := range []Compression{Auto, Off, Always} {
			o := Options{ChunkSize: chunkSize, Workers: 1, Compression: compression}
			want := encodeFile(t, o, sections...)
			for _, workers := range []int{0, 2, 3, 8} {
				o.Workers = workers
				e := newTestEncoder(t, o)
				requireSame(t, want, encodeWith(t, e, sections...), fmt.Sprintf("%+v", o))
				if workers == 8 {
					requireSame(t, want, encodeWith(t, e, sections...), fmt.Sprintf("%+v again", o))
				}
			}
		}
	}
}

// Equal values with equal chunk sizes have equal digests, however they are cut,
// compressed, split over files or handed over; other values have others.
func TestDigests(t *testing.T) {
	rng := testseed.Rand(t)
	for _, n := range []int{0, 1, 100, minChunkSize, 3*minChunkSize + 1} {
		raw := patches.bytes(rng, n)
		seen := make(map[uint64]bool)
		for _, compression := range []Compression{Auto, Off, Always} {
			for _, workers := range []int{1, 4} {
				e := newTestEncoder(t, Options{ChunkSize: minChunkSize, Workers: workers, Compression: compression})
				split := spanSection("split", raw)
				split.Stores = func(c int) bool { return c%2 == 0 }
				source := spanSection("source")
				source.Desc.Shape[0] = int64(n)
				source.Spans, source.Source = nil, pieceSource{raw, rng.Uint64()}
				data := encodeWith(t, e, spanSection("one", raw), spanSection("cut", cutSpans(rng, raw, 50)...), split, source)
				var read []uint64
				for _, info := range openFile(t, data).Sections() {
					read = append(read, info.Digest)
					seen[info.Digest] = true
				}
				require.Equal(t, read, e.AppendDigests(nil))
				require.Equal(t, slices.Concat([]uint64{9}, read), e.AppendDigests([]uint64{9}))
			}
		}
		require.Len(t, seen, 1, "digests of %d bytes", n)
		if n == 0 {
			continue
		}
		other := bytes.Clone(raw)
		other[rng.IntN(n)] ^= 1 << rng.IntN(8)
		longer := append(bytes.Clone(raw), 0)
		for _, info := range openFile(t, encodeFile(t, Options{ChunkSize: minChunkSize}, spanSection("a", other), spanSection("b", longer))).Sections() {
			require.False(t, seen[info.Digest], info.Key)
		}
	}
}

func TestDigestsOfAFailedEncode(t *testing.T) {
	e := newTestEncoder(t, Options{})
	encodeWith(t, e, spanSection("a", []byte("1")))
	require.Len(t, e.AppendDigests(nil), 1)
	_, err := e.Encode(context.Background(), io.Discard, someHeader(), []Section{spanSection("b"), spanSection("b")})
	require.ErrorIs(t, err, ErrInvalid)
	require.Empty(t, e.AppendDigests(nil), "of values that were not written")
}

func TestStats(t *testing.T) {
	rng := testseed.Rand(t)
	raw := noise.bytes(rng, 3*minChunkSize)
	split := spanSection("split", raw)
	split.Stores = func(c int) bool { return c == 1 }
	sections := []Section{spanSection("a", raw), spanSection("b", zeroes.bytes(rng, 2*minChunkSize+10)), split, spanSection("empty")}
	var b bytes.Buffer
	stats, err := newTestEncoder(t, Options{ChunkSize: minChunkSize}).Encode(context.Background(), &b, someHeader(), sections)
	require.NoError(t, err)
	require.Equal(t, Stats{RawBytes: 6*minChunkSize + 10, FileBytes: int64(b.Len()), Chunks: 7, Compressed: 2}, stats)

	infos := openFile(t, b.Bytes()).Sections()
	require.EqualValues(t, len(raw), infos[0].Stored)
	require.Equal(t, 3, infos[0].Chunks)
	require.Equal(t, minChunkSize, infos[0].ChunkSize)
	require.Less(t, infos[1].Stored, int64(200))
	require.EqualValues(t, minChunkSize, infos[2].Stored)
	require.Equal(t, []bool{false, false, true, false}, []bool{infos[0].Split, infos[1].Split, infos[2].Split, infos[3].Split})
	require.Zero(t, infos[3].Chunks)
}

// Auto compresses what pays and leaves what does not; Off nothing; Always what
// saves a byte. Small chunks never.
func TestCompressionModes(t *testing.T) {
	rng := testseed.Rand(t)
	const n = 1 << 20
	half := slices.Concat(noise.bytes(rng, n/2), zeroes.bytes(rng, n/2))
	tenth := slices.Concat(noise.bytes(rng, n*9/10), zeroes.bytes(rng, n/10))
	for _, c := range []struct {
		name    string
		raw     []byte
		mode    Compression
		compact bool
	}{
		{"zeros", zeroes.bytes(rng, n), Auto, true},
		{"zeros", zeroes.bytes(rng, n), Off, false},
		{"zeros", zeroes.bytes(rng, n), Always, true},
		{"half", half, Auto, true},
		{"tenth", tenth, Auto, false},
		{"tenth", tenth, Always, true},
		{"noise", noise.bytes(rng, n), Auto, false},
		{"noise", noise.bytes(rng, n), Always, false},
		{"small zeros", zeroes.bytes(rng, smallChunk-1), Always, false},
	} {
		for _, longest := range []int{n, 100} {
			var b bytes.Buffer
			s := []Section{spanSection("a", cutSpans(rng, c.raw, longest)...)}
			stats, err := newTestEncoder(t, Options{Compression: c.mode}).Encode(context.Background(), &b, someHeader(), s)
			require.NoError(t, err)
			require.Equal(t, c.compact, stats.Compressed == 1, "%s, %s", c.name, c.mode)
		}
	}
}

// Large sections start where a device's blocks do; small ones take no padding.
func TestAlignment(t *testing.T) {
	rng := testseed.Rand(t)
	large, small := noise.bytes(rng, alignedChunk), noise.bytes(rng, alignedChunk-1)
	r := openFile(t, encodeFile(t, Options{}, spanSection("1", small), spanSection("2", large), spanSection("3", small), spanSection("4", large)))
	at := func(key string) int64 { return sectionOf(t, r, key).chunks[0].offset }
	require.Equal(t, r.headerEnd, at("1"))
	require.Zero(t, at("2")%alignment)
	require.Equal(t, at("2")+alignedChunk, at("3"))
	require.Zero(t, at("4")%alignment)

	// Only before the first chunk that is stored.
	s := spanSection("smooth", smooth.bytes(rng, 5*alignedChunk))
	s.Stores = func(c int) bool { return c > 0 }
	r = openFile(t, encodeFile(t, Options{ChunkSize: alignedChunk, Compression: Always}, spanSection("1", small), s))
	chunks := sectionOf(t, r, "smooth").chunks
	require.Equal(t, kindLZ4, chunks[1].kind)
	require.Zero(t, chunks[1].offset%alignment)
	for c := 2; c < len(chunks); c++ {
		require.Equal(t, chunks[c-1].offset+int64(chunks[c-1].stored), chunks[c].offset)
	}
}
