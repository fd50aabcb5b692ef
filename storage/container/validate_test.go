package container

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestInvalidSections(t *testing.T) {
	eight := [][]byte{make([]byte, 8)}
	valid := func() Section { return Section{Key: "alpha", Desc: Desc{Elem: Float64}, Spans: eight} }
	box := func(lo, hi, global int64) func(*Section) {
		return func(s *Section) {
			s.Desc = Desc{Elem: Float64, Shape: []int64{1}, Dist: Partitioned, Global: []int64{global}, Box: Box{Lo: []int64{lo}, Hi: []int64{hi}}}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*Section)
		reason string // "": valid
	}{
		{"valid", func(*Section) {}, ""},
		{"longest key", func(s *Section) { s.Key = strings.Repeat("é", maxKey/2) }, ""},
		{"empty key", func(s *Section) { s.Key = "" }, "empty key"},
		{"long key", func(s *Section) { s.Key = strings.Repeat("x", maxKey+1) }, "up to 1024"},
		{"key of other bytes", func(s *Section) { s.Key = "a\xff" }, "UTF-8"},
		{"key twice", func(s *Section) { s.Key = "before" }, "twice"},
		{"too few bytes", func(s *Section) { s.Spans = [][]byte{make([]byte, 7)} }, "takes 8 bytes, but the value has 7"},
		{"no bytes", func(s *Section) { s.Spans = nil }, "takes 8 bytes, but the value has 0"},
		{"other shape", func(s *Section) { s.Desc.Shape = []int64{2, 3} }, "float64[2x3] takes 48 bytes"},
		{"empty shape", func(s *Section) { s.Desc.Shape = []int64{3, 0}; s.Spans = nil }, ""},
		{"string", func(s *Section) { s.Desc = Desc{Elem: String, Shape: []int64{8}} }, ""},
		{"other string", func(s *Section) { s.Desc = Desc{Elem: String, Shape: []int64{9}} }, "takes 9 bytes"},
		{"opaque", func(s *Section) { s.Desc = Desc{Elem: Opaque, Shape: []int64{3}} }, ""},
		{"negative extent", func(s *Section) { s.Desc.Shape = []int64{-1} }, "negative"},
		{"overflow", func(s *Section) { s.Desc.Shape = []int64{1 << 40, 1 << 40} }, "too large"},
		{"overflow of bytes", func(s *Section) { s.Desc.Shape = []int64{math.MaxInt64 / 4} }, "too large"},
		{"many dimensions", func(s *Section) { s.Desc.Shape = make([]int64, maxDims+1) }, "33 dimensions"},
		{"element type", func(s *Section) { s.Desc.Elem = 99 }, "element type"},
		{"distribution", func(s *Section) { s.Desc.Dist = 9 }, "distribution"},
		{"type name", func(s *Section) { s.Desc.Type = strings.Repeat("x", math.MaxUint16+1) }, "type name"},
		{"box of a local value", func(s *Section) { s.Desc.Global = []int64{1} }, "box"},
		{"box", box(3, 4, 4), ""},
		{"box outside", box(4, 5, 4), "not within"},
		{"box below", box(-1, 0, 4), "not within"},
		{"box of another shape", box(0, 2, 4), "does not have the shape"},
		{"partitioned scalar", func(s *Section) { s.Desc.Dist = Partitioned }, "at least 1"},
		{"partitioned opaque", func(s *Section) { box(3, 4, 4)(s); s.Desc.Elem = Opaque }, "opaque"},
		{"spans and source", func(s *Section) { s.Source = zeroSource(8) }, "more than one"},
		{"source", func(s *Section) { s.Source = zeroSource(8); s.Spans = nil }, ""},
	} {
		for _, workers := range []int{1, 4} {
			s := valid()
			c.change(&s)
			w := hookedWriter{}
			e := newTestEncoder(t, Options{Workers: workers})
			sections := []Section{spanSection("before", []byte("1")), s, spanSection("behind", []byte("1"))}
			_, err := e.Encode(context.Background(), &w, someHeader(), sections)
			if c.reason == "" {
				require.NoError(t, err, c.name)
				require.NoError(t, openFile(t, w.Bytes()).Verify(context.Background()), c.name)
				continue
			}
			var wrong *SectionError
			require.ErrorAs(t, err, &wrong, c.name)
			require.ErrorIs(t, err, ErrInvalid)
			require.Equal(t, s.Key, wrong.Key, c.name)
			require.Equal(t, 1, wrong.Index, c.name)
			require.ErrorContains(t, err, c.reason, c.name)
			require.Zero(t, w.writes, c.name)
		}
	}
}

// A Source whose description is of another size is only found when it is done.
func TestSourceOfAnotherSize(t *testing.T) {
	for _, n := range []int64{0, 7, 9, 100_000} {
		s := Section{Key: "alpha", Desc: Desc{Elem: Float64}, Source: zeroSource(n)}
		_, err := newTestEncoder(t, Options{}).Encode(context.Background(), &hookedWriter{}, someHeader(), []Section{s})
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorContains(t, err, `"alpha"`)
		require.ErrorContains(t, err, "takes 8 bytes")
	}
}

// A length of a section's record has 32 bits.
func TestTooManyChunks(t *testing.T) {
	e := entry{key: "a", geom: geometry{maxChunks * minChunkSize, minChunkSize}}
	require.Empty(t, e.problem())
	require.Less(t, int64(maxChunks)*chunkRecordSize+maxKey+math.MaxUint16+4*255*8+sectionFixedSize, int64(math.MaxUint32))
	e.geom.size++
	require.Contains(t, e.problem(), "chunks")
}

// Keys are compared with those of the version before; none of its mistakes is
// kept.
func TestKeysFromVersionToVersion(t *testing.T) {
	e := newTestEncoder(t, Options{})
	for i, c := range []struct {
		keys  string
		valid bool
	}{
		{"abc", true}, {"abc", true}, {"acb", true}, {"abb", false}, {"ab", true}, {"abb", false}, {"abc", true},
		{"aba", false}, {"bca", true}, {"bcad", true}, {"bcab", false}, {"", true}, {"aa", false}, {"a", true}, {"ab", true}, {"bb", false}, {"bb", false},
	} {
		var sections []Section
		for _, key := range c.keys {
			sections = append(sections, spanSection(string(key), []byte("1")))
		}
		_, err := e.Encode(context.Background(), &hookedWriter{}, someHeader(), sections)
		if c.valid {
			require.NoError(t, err, "%d: %s", i, c.keys)
		} else {
			require.ErrorIs(t, err, ErrInvalid, "%d: %s", i, c.keys)
		}
	}
}

func TestInvalidHeaders(t *testing.T) {
	for reason, change := range map[string]func(*Header){
		"rank 4 of 4":            func(h *Header) { h.Rank = 4 },
		"rank -1 of 4":           func(h *Header) { h.Rank = -1 },
		"size 0":                 func(h *Header) { h.Size = 0 },
		"size 2147483648":        func(h *Header) { h.Size = math.MaxInt32 + 1 },
		"version 0":              func(h *Header) { h.Version = 0 },
		"name has 1025 bytes":    func(h *Header) { h.Name = strings.Repeat("x", 1025) },
		"not UTF-8":              func(h *Header) { h.Name = "\xff" },
		"name of an ancestor":    func(h *Header) { h.Ancestors = []Ancestor{{Name: "\xff"}} },
		"1025 ancestors":         func(h *Header) { h.Ancestors = make([]Ancestor, 1025) },
		"fingerprint of 1048577": func(h *Header) { h.Fingerprint = make([]byte, 1<<20+1) },
	} {
		h := someHeader()
		change(&h)
		w := hookedWriter{}
		_, err := newTestEncoder(t, Options{}).Encode(context.Background(), &w, h, nil)
		require.ErrorIs(t, err, ErrInvalid, reason)
		require.ErrorContains(t, err, reason)
		require.Zero(t, w.writes)
	}
	// A time that is not set is one like any other.
	h := someHeader()
	h.Created = time.Time{}
	w := hookedWriter{}
	_, err := newTestEncoder(t, Options{}).Encode(context.Background(), &w, h, nil)
	require.NoError(t, err)
	require.True(t, openFile(t, w.Bytes()).Header().Created.IsZero())
}

func TestInvalidOptions(t *testing.T) {
	for reason, o := range map[string]Options{
		"chunk size 4095":      {ChunkSize: 4095},
		"chunk size 2048":      {ChunkSize: 2048},
		"chunk size 12288":     {ChunkSize: 12288},
		"chunk size 134217728": {ChunkSize: 128 << 20},
		"chunk size -4096":     {ChunkSize: -4096},
		"-1 workers":           {Workers: -1},
		"compression 3":        {Compression: 3},
	} {
		_, err := NewEncoder(o)
		require.ErrorIs(t, err, ErrInvalid, reason)
		require.ErrorContains(t, err, reason)
		require.ErrorContains(t, err, "allowed")
	}
	newTestEncoder(t, Options{ChunkSize: maxChunkSize, Workers: 100, Compression: Always})
}
