package container

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/craft-go/craft/internal/testseed"
)

// randomSections makes sections of all kinds, and says what must be read back.
func randomSections(rng *rand.Rand, chunkSize int) ([]Section, map[string][]byte) {
	var sections []Section
	want := make(map[string][]byte)
	add := func(name string, raw []byte, s Section) {
		s.Key = fmt.Sprintf("%03d %s of %d bytes", len(sections), name, len(raw))
		if s.Desc.Type == "" {
			s.Desc = Desc{Elem: Uint8, Shape: []int64{int64(len(raw))}, Type: "[]uint8"}
		}
		sections = append(sections, s)
		want[s.Key] = raw
	}
	kinds := []contents{noise, zeroes, smooth, patches}
	random := func(n int) []byte { return kinds[rng.IntN(len(kinds))].bytes(rng, n) }
	sizes := []int{0, 1, 7, 8, 100, smallChunk - 1, smallChunk, smallChunk + 1, alignedChunk - 1, alignedChunk, alignedChunk + 1,
		batchSize + 1, chunkSize - 1, chunkSize, chunkSize + 1, rng.IntN(3 * chunkSize)}
	if chunkSize < defaultChunkSize {
		sizes = append(sizes, 2*chunkSize-1, 2*chunkSize, 2*chunkSize+1)
	}
	for _, i := range rng.Perm(len(sizes)) {
		n := sizes[i]
		p := random(n)
		switch rng.IntN(4) {
		case 0:
			add("one span", p, Section{Spans: [][]byte{p}})
		case 1:
			add("large spans", p, Section{Spans: cutSpans(rng, p, 1+n/2)})
		case 2:
			add("small spans", p, Section{Spans: cutSpans(rng, p, 1+n/200)})
		case 3:
			add("source", p, Section{Source: pieceSource{p, rng.Uint64()}})
		}
	}
	add("nil spans", nil, Section{})
	add("empty spans", nil, Section{Spans: [][]byte{{}, nil, {}}})
	add("nil source", nil, Section{Source: pieceSource{}})
	p := random(24 * 100_000)
	add("tiny spans", p, Section{Spans: rows(p, 24)})
	p = random(2*chunkSize + 5)
	add("opaque source", p, Section{Source: pieceSource{p, rng.Uint64()}, Desc: Desc{Elem: Opaque, Type: "grid"}})
	p = random(8 * 1000)
	add("matrix", p, Section{Spans: rows(p, 80), Desc: Desc{
		Elem: Float64, Shape: []int64{100, 10}, Dist: Partitioned, Global: []int64{1000, 10},
		Box: Box{Lo: []int64{300, 0}, Hi: []int64{400, 10}}, Type: "[][]float64",
	}})
	for range 300 {
		p := random(8)
		add("scalar", p, Section{Spans: [][]byte{p}, Desc: Desc{Elem: Float64, Type: "float64"}})
	}
	return sections, want
}

// rows cuts p into spans of n bytes.
func rows(p []byte, n int) [][]byte {
	var spans [][]byte
	for ; len(p) > 0; p = p[min(n, len(p)):] {
		spans = append(spans, p[:min(n, len(p))])
	}
	return spans
}

func TestRoundTrip(t *testing.T) {
	for _, chunkSize := range []int{minChunkSize, defaultChunkSize} {
		for _, compression := range []Compression{Auto, Off, Always} {
			if testing.Short() && chunkSize == defaultChunkSize && compression != Auto {
				continue
			}
			t.Run(fmt.Sprintf("%dKiB/%s", chunkSize>>10, compression), func(t *testing.T) {
				rng := testseed.Rand(t)
				sections, want := randomSections(rng, chunkSize)
				var first []byte
				for _, workers := range []int{8, 1, 2} {
					e := newTestEncoder(t, Options{ChunkSize: chunkSize, Workers: workers, Compression: compression})
					encodeWith(t, e, sections[:5]...) // buffers that were used before
					data := encodeWith(t, e, sections...)
					if first == nil {
						first = data
						readBack(t, rng, data, sections, want)
					}
					requireSame(t, first, data, "file")
				}
			})
		}
	}
}

// readBack opens a file and reads its sections in all ways.
func readBack(t *testing.T, rng *rand.Rand, data []byte, sections []Section, want map[string][]byte) {
	r := openFile(t, data)
	require.Equal(t, someHeader(), r.Header())
	require.NoError(t, r.Verify(context.Background()))
	infos := r.Sections()
	require.Len(t, infos, len(sections))
	for i := range sections {
		key, desc := sections[i].Key, sections[i].Desc
		require.Equal(t, key, infos[i].Key)
		require.Equal(t, desc, infos[i].Desc)
		require.EqualValues(t, len(want[key]), infos[i].Size)
		s := sectionOf(t, r, key)
		require.Equal(t, infos[i], s.Info())
		readSection(t, rng, s, want[key])
	}
	_, ok := r.Section("no such key")
	require.False(t, ok)
}

func readSection(t *testing.T, rng *rand.Rand, s *SectionReader, want []byte) {
	key, n := s.Info().Key, len(want)
	for _, longest := range []int{n, 1 + n/3, 1 + n/500} {
		got := make([]byte, n)
		require.NoError(t, s.ReadSpans(context.Background(), cutSpans(rng, got, longest)), key)
		requireSame(t, want, got, key)
	}
	got, err := io.ReadAll(s.NewReader(context.Background()))
	require.NoError(t, err, key)
	requireSame(t, want, got, key)
	got = got[:0]
	in, buf := s.NewReader(context.Background()), make([]byte, 1+rng.IntN(1+n))
	for {
		k, err := in.Read(buf[:1+rng.IntN(len(buf))])
		got = append(got, buf[:k]...)
		if err == io.EOF {
			break
		}
		require.NoError(t, err, key)
	}
	requireSame(t, want, got, key)
	k, err := in.Read(buf)
	require.Zero(t, k)
	require.Equal(t, io.EOF, err, "after the end")
	readParts(t, rng.Uint64(), s, want, 4)
}

// readParts reads some stretches of a section at random.
func readParts(t *testing.T, seed uint64, s *SectionReader, want []byte, parts int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for range parts {
		off := rng.IntN(len(want) + 1)
		p := make([]byte, rng.IntN(len(want)-off+10))
		k, err := s.ReadAt(p, int64(off))
		if rest := len(want) - off; len(p) <= rest {
			require.NoError(t, err)
			require.Equal(t, len(p), k)
		} else {
			require.Equal(t, io.EOF, err)
			require.Equal(t, rest, k)
		}
		requireSame(t, want[off:off+k], p[:k], s.Info().Key)
	}
}

// requireSame compares without printing megabytes.
func requireSame(t testing.TB, want, got []byte, what string) {
	if !bytes.Equal(want, got) {
		at := 0
		for at < min(len(want), len(got)) && want[at] == got[at] {
			at++
		}
		require.Failf(t, "wrong bytes", "%s: %d bytes, want %d; they differ from offset %d on", what, len(got), len(want), at)
	}
}

func TestReadAtInParallel(t *testing.T) {
	rng := testseed.Rand(t)
	const n = 9*minChunkSize + 100
	raw, other := patches.bytes(rng, n), smooth.bytes(rng, n)
	r := openFile(t, encodeFile(t, Options{ChunkSize: minChunkSize, Compression: Always}, spanSection("a", raw), spanSection("b", other)))
	a, b := sectionOf(t, r, "a"), sectionOf(t, r, "b")
	var g errgroup.Group
	for range 8 {
		seed := rng.Uint64()
		g.Go(func() error { readParts(t, seed, a, raw, 100); return nil })
		g.Go(func() error { readParts(t, seed, b, other, 100); return nil })
	}
	require.NoError(t, g.Wait())
}

func TestReadAtOutside(t *testing.T) {
	s := sectionOf(t, openFile(t, encodeFile(t, Options{}, spanSection("a", []byte("12345")))), "a")
	p := make([]byte, 3)
	_, err := s.ReadAt(p, -1)
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, `"a"`)
	for _, off := range []int64{5, 6, 1 << 62} {
		n, err := s.ReadAt(p, off)
		require.Zero(t, n)
		require.Equal(t, io.EOF, err)
	}
	n, err := s.ReadAt(nil, 5)
	require.Zero(t, n)
	require.NoError(t, err)
	require.NoError(t, iotest.TestReader(io.NewSectionReader(s, 0, 5), []byte("12345")))
	err = s.ReadSpans(context.Background(), [][]byte{p, p})
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "5 bytes")
}

// Chunks that are kept for partial reads are shared by all section readers and
// bounded: more sections than fit are read right all the same.
func TestKeptChunksAreBounded(t *testing.T) {
	rng := testseed.Rand(t)
	want := make(map[string][]byte)
	var sections []Section
	for i := range 5 {
		key := fmt.Sprint(i)
		want[key] = noise.bytes(rng, defaultChunkSize)
		sections = append(sections, spanSection(key, want[key]))
	}
	r := openFile(t, encodeFile(t, Options{Compression: Off}, sections...))
	var readers []*SectionReader
	for i := range sections {
		readers = append(readers, sectionOf(t, r, sections[i].Key))
	}
	var g errgroup.Group
	for range 2 {
		seed := rng.Uint64()
		g.Go(func() error {
			for range 3 {
				for _, s := range readers {
					readParts(t, seed, s, want[s.Info().Key], 3)
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	held := 0
	for _, s := range readers {
		held += cap(s.kept.buf)
	}
	require.LessOrEqual(t, held, keptBudget)
	require.Positive(t, held)
}

func TestManyKeys(t *testing.T) {
	rng := testseed.Rand(t)
	const n = 10_000
	values := noise.bytes(rng, 8*n)
	sections := make([]Section, n)
	for i := range sections {
		sections[i] = Section{Key: fmt.Sprintf("key %d", i), Desc: Desc{Elem: Float64, Type: "float64"}, Spans: [][]byte{values[8*i : 8*i+8]}}
	}
	r := openFile(t, encodeFile(t, Options{}, sections...))
	require.NoError(t, r.Verify(context.Background()))
	p := make([]byte, 8)
	for i := range sections {
		require.NoError(t, sectionOf(t, r, sections[i].Key).ReadSpans(context.Background(), [][]byte{p}))
		require.Equal(t, sections[i].Spans[0], p)
	}
}

func TestEmptyFile(t *testing.T) {
	r := openFile(t, encodeFile(t, Options{}))
	require.Empty(t, r.Sections())
	require.NoError(t, r.Verify(context.Background()))
}

func TestHeaderRoundTrip(t *testing.T) {
	fingerprint := bytes.Repeat([]byte("x"), 10_000) // longer than what is read at first
	for name, change := range map[string]func(*Header){
		"plain":              func(h *Header) {},
		"minimal":            func(h *Header) { *h = Header{Version: 1, Size: 1, Created: h.Created} },
		"no iteration":       func(h *Header) { h.Iteration = NoIteration },
		"negative iteration": func(h *Header) { h.Iteration = -1 },
		"no time":            func(h *Header) { h.Created = h.Created.AddDate(-3000, 0, 0) },
		"large":              func(h *Header) { h.Fingerprint = fingerprint; h.Version = 1<<64 - 1 },
		"many ancestors":     func(h *Header) { h.Ancestors = make([]Ancestor, maxAncestors) },
	} {
		t.Run(name, func(t *testing.T) {
			h := someHeader()
			change(&h)
			var b bytes.Buffer
			_, err := newTestEncoder(t, Options{}).Encode(context.Background(), &b, h, []Section{spanSection("a", []byte("1"))})
			require.NoError(t, err)
			require.Equal(t, h, openFile(t, b.Bytes()).Header())
			got, err := ReadHeader(bytes.NewReader(b.Bytes()), int64(b.Len()))
			require.NoError(t, err)
			require.Equal(t, h, got)
		})
	}
}
