package container

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

const joinChunk = minChunkSize

// splitParts stores raw in parts files, chunk c in file c mod parts, and returns
// the bytes of the files.
func splitParts(t *testing.T, raw []byte, parts int, compression Compression) [][]byte {
	files := make([][]byte, parts)
	for rank := range files {
		s := spanSection("weights", raw)
		s.Desc.Dist = Replicated
		s.Stores = func(c int) bool { return c%parts == rank }
		files[rank] = encodeFile(t, Options{ChunkSize: joinChunk, Compression: compression}, spanSection("own", []byte{byte(rank)}), s)
	}
	return files
}

func partReaders(t *testing.T, files [][]byte) []*SectionReader {
	parts := make([]*SectionReader, len(files))
	for i, data := range files {
		r := openFile(t, data)
		require.NoError(t, r.Verify(context.Background()))
		parts[i] = sectionOf(t, r, "weights")
	}
	return parts
}

func TestJoin(t *testing.T) {
	rng := testseed.Rand(t)
	for n := 2; n <= 5; n++ {
		for _, size := range []int{0, 10, joinChunk, 3 * joinChunk, 11*joinChunk + 5} {
			raw := patches.bytes(rng, size)
			files := splitParts(t, raw, n, Compression(rng.IntN(3)))
			parts := partReaders(t, files)
			rng.Shuffle(n, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			joined, err := Join(parts)
			require.NoError(t, err)
			requireJoined(t, rng, joined, raw, parts)

			// The view of a view, and parts that are there twice.
			half, err := Join(append(slices.Clone(parts[1:]), parts...))
			require.NoError(t, err)
			again, err := Join([]*SectionReader{parts[n-1], half})
			require.NoError(t, err)
			requireJoined(t, rng, again, raw, parts)
		}
	}
}

func requireJoined(t *testing.T, rng *rand.Rand, joined *SectionReader, raw []byte, parts []*SectionReader) {
	info, stored := joined.Info(), int64(0)
	for _, p := range parts {
		require.Equal(t, p.Info().Digest, info.Digest)
		stored += p.Info().Stored
	}
	require.False(t, info.Split)
	require.Equal(t, stored, info.Stored)
	require.EqualValues(t, len(raw), info.Size)
	require.Equal(t, Replicated, info.Desc.Dist)
	readSection(t, rng, joined, raw)
}

// A chunk that no part has is an error that says which; so is reading it from
// one part.
func TestJoinWithMissingChunks(t *testing.T) {
	raw := noise.bytes(testseed.Rand(t), 7*joinChunk)
	files := splitParts(t, raw, 3, Auto)
	parts := partReaders(t, files)
	for missing := range parts {
		_, err := Join(slices.Delete(slices.Clone(parts), missing, missing+1))
		require.ErrorIs(t, err, ErrElsewhere)
		require.NotErrorIs(t, err, ErrDamaged)
		require.ErrorContains(t, err, `"weights"`)
		require.ErrorContains(t, err, fmt.Sprintf("chunk %d ", missing))
	}
	one := parts[0]
	require.True(t, one.Info().Split)
	_, err := readAll(one)
	require.ErrorIs(t, err, ErrElsewhere)
	_, err = io.ReadAll(one.NewReader(context.Background()))
	require.ErrorIs(t, err, ErrElsewhere)
	p := make([]byte, 3*joinChunk)
	n, err := one.ReadAt(p, 100)
	require.ErrorIs(t, err, ErrElsewhere)
	require.Equal(t, joinChunk-100, n, "what this file has of it")
	requireSame(t, raw[100:joinChunk], p[:n], "part")
	n, err = one.ReadAt(p[:50], 3*joinChunk+7)
	require.NoError(t, err)
	requireSame(t, raw[3*joinChunk+7:][:50], p[:n], "part")

	_, err = Join(nil)
	require.ErrorIs(t, err, ErrInvalid)
}

// Parts of values that were not the same on all ranks.
func TestJoinOfDisagreeingParts(t *testing.T) {
	raw := noise.bytes(testseed.Rand(t), 5*joinChunk+8)
	other := bytes.Clone(raw)
	other[2*joinChunk] ^= 1
	part := func(key string, d Desc, o Options, raw []byte) *SectionReader {
		s := Section{Key: key, Desc: d, Spans: [][]byte{raw}, Stores: func(c int) bool { return c%2 == 1 }}
		return sectionOf(t, openFile(t, encodeFile(t, o, s)), key)
	}
	bytesDesc := func(n int) Desc {
		return Desc{Elem: Uint8, Shape: []int64{int64(n)}, Dist: Replicated, Type: "[]uint8"}
	}
	good := partReaders(t, splitParts(t, raw, 2, Off))[0]
	o := Options{ChunkSize: joinChunk}
	for what, p := range map[string]*SectionReader{
		"digest":     part("weights", bytesDesc(len(raw)), o, other),
		"uint8":      part("weights", bytesDesc(len(raw)-8), o, raw[8:]),
		"size":       part("weights", Desc{Elem: Opaque, Type: "x"}, o, raw[8:]),
		"float64":    part("weights", Desc{Elem: Float64, Shape: []int64{int64(len(raw) / 8)}, Dist: Replicated, Type: "[]float64"}, o, raw),
		"main.Grid":  part("weights", Desc{Elem: Uint8, Shape: []int64{int64(len(raw))}, Dist: Replicated, Type: "main.Grid"}, o, raw),
		"chunk size": part("weights", bytesDesc(len(raw)), Options{ChunkSize: 2 * joinChunk}, raw),
		"bias":       part("bias", bytesDesc(len(raw)), o, raw),
	} {
		if what == "size" {
			good := part("weights", Desc{Elem: Opaque, Type: "x"}, o, raw)
			requireDisagree(t, []*SectionReader{good, good, p}, 2, what)
			continue
		}
		requireDisagree(t, []*SectionReader{good, p}, 1, what)
		requireDisagree(t, []*SectionReader{good, good, p}, 2, what)
	}
}

func requireDisagree(t *testing.T, parts []*SectionReader, second int, what string) {
	_, err := Join(parts)
	var disagree *DisagreeError
	require.ErrorAs(t, err, &disagree, what)
	require.Equal(t, "weights", disagree.Key)
	require.Equal(t, [2]int{0, second}, disagree.Parts)
	require.Contains(t, err.Error(), what)
}

// Damage in one of the parts is found when it is read through the view.
func TestJoinOfADamagedPart(t *testing.T) {
	raw := noise.bytes(testseed.Rand(t), 6*joinChunk)
	files := splitParts(t, raw, 2, Off)
	rec := openFile(t, files[1]).x.chunks[1+3]
	files[1][rec.offset+5] ^= 1
	joined, err := Join([]*SectionReader{sectionOf(t, openFile(t, files[0]), "weights"), sectionOf(t, openFile(t, files[1]), "weights")})
	require.NoError(t, err)
	_, err = readAll(joined)
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, "chunk 3")
	p := make([]byte, 3*joinChunk)
	n, err := joined.ReadAt(p, 0)
	require.NoError(t, err)
	requireSame(t, raw[:n], p, "chunks before")
}
