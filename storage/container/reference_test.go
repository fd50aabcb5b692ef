package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// deltaFiles are versions 1 to 3 of a few values: raw, compressed, small and
// unchanged ones.
func deltaFiles(t testing.TB, rng *rand.Rand) (*history, map[string][]byte) {
	y := newHistory(t, Options{ChunkSize: minChunkSize, Compression: Always})
	y.h.Level, y.h.Flush = 3, true
	raw := map[string][]byte{"a raw": noise.bytes(rng, 2*minChunkSize), "b smooth": smooth.bytes(rng, 3*minChunkSize), "c small": noise.bytes(rng, 2000), "d number": {1, 2}}
	for range 3 {
		var sections []Section
		for _, key := range slices.Sorted(maps.Keys(raw)) {
			sections = append(sections, spanSection(key, raw[key]))
		}
		y.keep(0, sections...)
		raw["a raw"][0]++
		raw["b smooth"][minChunkSize+8]++
	}
	raw["a raw"][0]--
	raw["b smooth"][minChunkSize+8]--
	return y, raw
}

// Every flipped bit of a file with references, and of those that it refers to as
// far as they are referred to, is found.
func TestEveryFlippedBitWithReferencesIsFound(t *testing.T) {
	rng := testseed.Rand(t)
	y, want := deltaFiles(t, rng)
	y.requireRead(y.open(3), want)
	data := y.files[3]
	require.Less(t, len(data), len(y.files[1])/2)
	first, step := every(rng)
	for bit := first; bit < 8*len(data); bit += step {
		data[bit/8] ^= 1 << (bit % 8)
		requireDamaged(t, verifyFile(data, nil), "bit %d of byte %d of %d", bit%8, bit/8, len(data))
		data[bit/8] ^= 1 << (bit % 8)
	}
	base := y.files[1]
	found := 0
	for at := first; at < len(base); at += step {
		was := base[at]
		base[at] ^= 1 << rng.IntN(8)
		r := y.open(3)
		if err := r.VerifyReferences(context.Background()); err != nil {
			require.ErrorIs(t, err, ErrDamaged)
			require.ErrorContains(t, err, "version 1")
			found++
		} else {
			for key, raw := range want {
				got, err := readAll(sectionOf(t, r, key))
				require.NoError(t, err)
				requireSame(t, raw, got, key)
			}
		}
		base[at] = was
	}
	require.Greater(t, found, len(base)/step/3)
}

// A file that is referred to and is not there, truncated, or another one.
func TestWrongBaseFiles(t *testing.T) {
	rng := testseed.Rand(t)
	y, want := deltaFiles(t, rng)
	other := func(change func(h *Header)) []byte {
		r := openFile(t, y.files[1])
		h := r.Header()
		change(&h)
		return encodeHeader(t, h, spanSection("a raw", want["a raw"]))
	}
	mine := errors.New("node is gone")
	for name, c := range map[string]struct {
		data    []byte
		err     error
		damaged bool
	}{
		"not there":            {nil, mine, false},
		"truncated":            {y.files[1][:len(y.files[1])-100], nil, true},
		"empty":                {[]byte{}, nil, true},
		"another version":      {y.files[2], nil, true},
		"another attempt":      {other(func(h *Header) { h.Attempt[0]++ }), nil, true},
		"another rank":         {other(func(h *Header) { h.Rank++ }), nil, true},
		"another size":         {other(func(h *Header) { h.Size++ }), nil, true},
		"another checkpoint":   {other(func(h *Header) { h.Name = "other" }), nil, true},
		"another iteration":    {other(func(h *Header) { h.Iteration++ }), nil, true},
		"other contents":       {other(func(*Header) {}), nil, true},
		"damaged in the chunk": {flipped(y.files[1], int(openFile(t, y.files[1]).x.chunks[1].offset)), nil, true},
	} {
		r := openFile(t, y.files[3])
		calls := 0
		r.ResolveBy(func(version uint64) (*Reader, error) {
			if version != 1 {
				return y.resolve(version)
			}
			calls++
			if c.err != nil {
				return nil, c.err
			}
			return Open(bytes.NewReader(c.data), int64(len(c.data)))
		})
		require.NoError(t, r.Verify(context.Background()), name)
		for range 2 {
			p, err := readAll(sectionOf(t, r, "a raw"))
			require.Error(t, err, "%s: %x", name, p[:3])
			require.Equal(t, c.damaged, errors.Is(err, ErrDamaged), "%s: %v", name, err)
			require.ErrorContains(t, err, "version 1")
			if c.err != nil {
				require.ErrorIs(t, err, mine)
				require.ErrorIs(t, err, ErrReference)
			}
			require.Error(t, r.VerifyReferences(context.Background()), name)
		}
		require.Equal(t, 1, calls, name)
		got, err := readAll(sectionOf(t, r, "d number"))
		require.NoError(t, err, name)
		require.Equal(t, want["d number"], got)
	}
}

func flipped(data []byte, at int) []byte {
	bad := bytes.Clone(data)
	bad[at] ^= 1
	return bad
}

func TestReferencesWithoutFiles(t *testing.T) {
	y, want := deltaFiles(t, testseed.Rand(t))
	r := openFile(t, y.files[3])
	require.Equal(t, []uint64{1}, r.Refs())
	var missing *ReferenceError
	for _, read := range []func(s *SectionReader) error{
		func(s *SectionReader) error { _, err := readAll(s); return err },
		func(s *SectionReader) error { _, err := io.ReadAll(s.NewReader(context.Background())); return err },
		func(s *SectionReader) error { _, err := s.ReadAt(make([]byte, 3), minChunkSize+1); return err },
		func(*SectionReader) error { return r.VerifyReferences(context.Background()) },
	} {
		err := read(sectionOf(t, r, "a raw"))
		require.ErrorIs(t, err, ErrReference)
		require.NotErrorIs(t, err, ErrDamaged)
		require.ErrorAs(t, err, &missing)
		require.EqualValues(t, 1, missing.Version)
		require.ErrorContains(t, err, "version 1")
	}
	r = openFile(t, y.files[3])
	r.ResolveBy(y.resolve)
	y.requireRead(r, want)
	require.Empty(t, openFile(t, y.files[1]).Refs())
}

// References are repaired too, from the sources of the file that they are to.
func TestSourcesOfReferences(t *testing.T) {
	y, want := deltaFiles(t, testseed.Rand(t))
	at := openFile(t, y.files[1]).x.chunks[1].offset
	bad := flipped(y.files[1], int(at))
	for _, c := range []struct {
		sources [][]byte
		good    bool
	}{{[][]byte{bad}, false}, {[][]byte{bad, y.files[1]}, true}} {
		r := openFile(t, y.files[3])
		r.ResolveBy(func(uint64) (*Reader, error) { return openAny(sourcesOf(c.sources...)) })
		if c.good {
			y.requireRead(r, want)
		} else {
			require.ErrorIs(t, r.VerifyReferences(context.Background()), ErrDamaged)
		}
	}
}

// verifyWith verifies what a file refers to, given that as its only older version.
func verifyWith(t testing.TB, data, base []byte) error {
	r := openFile(t, data)
	r.ResolveBy(func(uint64) (*Reader, error) { return openFile(t, base), nil })
	return r.VerifyReferences(context.Background())
}

// An index with right checksums that refers to what cannot be.
func TestHostileReferences(t *testing.T) {
	y, _ := deltaFiles(t, testseed.Rand(t))
	data := y.files[3]
	require.NoError(t, openFile(t, rebuild(t, data, func(*index) {})).Verify(context.Background()))
	first := slices.IndexFunc(openFile(t, data).x.chunks, func(r chunkRecord) bool { return r.kind == kindReference })
	for name, change := range map[string]func(x *index, r *chunkRecord){
		"of no version":            func(_ *index, r *chunkRecord) { r.ref++ },
		"of the last version":      func(_ *index, r *chunkRecord) { r.ref = math.MaxUint16 },
		"no table":                 func(x *index, _ *chunkRecord) { x.table = false },
		"empty table":              func(x *index, _ *chunkRecord) { x.refs = nil },
		"version 0":                func(x *index, _ *chunkRecord) { x.refs[0].version = 0 },
		"own version":              func(x *index, _ *chunkRecord) { x.refs[0].version = 3 },
		"later version":            func(x *index, _ *chunkRecord) { x.refs[0].version = math.MaxUint64 },
		"version twice":            func(x *index, _ *chunkRecord) { x.refs = append(x.refs, x.refs[0]) },
		"versions descend":         func(x *index, _ *chunkRecord) { x.refs = append([]ref{{version: 2}}, x.refs...) },
		"in the preamble":          func(_ *index, r *chunkRecord) { r.offset = preambleSize - 1 },
		"at a negative place":      func(_ *index, r *chunkRecord) { r.offset = math.MinInt64 },
		"behind all":               func(_ *index, r *chunkRecord) { r.offset = math.MaxInt64 - 5 },
		"of another length":        func(_ *index, r *chunkRecord) { r.stored-- },
		"of 4 GiB":                 func(_ *index, r *chunkRecord) { r.stored = math.MaxUint32 },
		"of two checksums":         func(_ *index, r *chunkRecord) { r.crc++; r.there = kindRaw },
		"compressed to its length": func(_ *index, r *chunkRecord) { r.there = kindLZ4 },
	} {
		bad := rebuild(t, data, func(x *index) { change(x, &x.chunks[first]) })
		requireOpenFails(t, bad, ErrDamaged, name)
	}
	// Within the format, but not within the other file.
	for name, change := range map[string]func(r *chunkRecord){
		"in the header":   func(r *chunkRecord) { r.offset = preambleSize },
		"in the footer":   func(r *chunkRecord) { r.offset = openFile(t, y.files[1]).trailer.footerOffset - 1 },
		"behind the file": func(r *chunkRecord) { r.offset = int64(len(y.files[1])) },
		"far behind":      func(r *chunkRecord) { r.offset = math.MaxInt64 - 1<<20 },
	} {
		err := verifyWith(t, rebuild(t, data, func(x *index) { change(&x.chunks[first]) }), y.files[1])
		require.ErrorIs(t, err, ErrDamaged, name)
		require.ErrorIs(t, err, ErrReference, name)
	}
	err := verifyWith(t, rebuild(t, data, func(x *index) { x.chunks[first].offset++ }), y.files[1])
	require.ErrorIs(t, err, ErrDamaged)
	require.NotErrorIs(t, err, ErrReference, "it is the right file")

	footer := openFile(t, data).trailer.footerOffset
	table := openFile(t, data).trailer.fileSize - trailerSize - refSize - 4
	require.Greater(t, table, footer)
	requireOpenFails(t, patch(data, table, u32(math.MaxUint32)...), ErrDamaged, "4 Gi versions")
	requireOpenFails(t, patch(data, table, u32(2)...), ErrDamaged, "a version more")
}

// The fields of 1.1.
func TestHeaderOf11(t *testing.T) {
	for _, change := range []func(h *Header){
		func(h *Header) { h.Level = 200 },
		func(h *Header) { h.Flush = true },
		func(h *Header) { h.Level, h.Flush = 1, true },
		func(*Header) {},
	} {
		h := someHeader()
		change(&h)
		data := encodeHeader(t, h)
		got, err := ReadHeader(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		require.Equal(t, h, got)
		minor := uint16(0)
		if h.Level != 0 || h.Flush {
			minor = 1
		}
		require.Equal(t, u16(minor), data[14:16])
	}
	h := someHeader()
	h.Level = 1
	data := encodeHeader(t, h)
	oldest := openFile(t, data).headerEnd - 12
	for _, version := range []uint64{h.Version, math.MaxUint64} {
		requireOpenFails(t, patch(data, oldest, u64(version)...), ErrDamaged, fmt.Sprint(version))
	}
	// The fields are missing.
	data = patch(encodeHeader(t, someHeader()), 14, u16(1)...)
	requireOpenFails(t, data, ErrDamaged, "no fields of 1.1")
}

// A file that has the chunks that are referred to, at their places, but is not
// the one that was there when they were: by its header, or by its index.
func TestBaseThatOnlyLooksRight(t *testing.T) {
	rng := testseed.Rand(t)
	raw, number := noise.bytes(rng, 2*minChunkSize), []byte{1}
	y := newHistory(t, Options{ChunkSize: minChunkSize})
	y.keep(0, spanSection("a", raw), spanSection("number", number))
	first := y.h
	y.keep(0, spanSection("a", raw), spanSection("number", number))
	for name, change := range map[string]func(){
		"nothing":       func() {},
		"iteration":     func() { y.h.Iteration++ },
		"another value": func() { number[0]++ },
	} {
		y.h = first
		change()
		data := encodeAt(t, y, spanSection("a", raw), spanSection("number", number))
		require.Equal(t, name == "nothing", verifyWith(t, y.files[2], data) == nil, name)
		number[0] = 1
	}
}
