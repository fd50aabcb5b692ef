package container

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// damageCase is a file, and what its sections hold.
type damageCase struct {
	name string
	data []byte
	want map[string][]byte
	// everyBit of small files is flipped, otherwise a sample.
	everyBit bool
}

func damageCases(t *testing.T, rng *rand.Rand) []damageCase {
	make1 := func(name string, o Options, everyBit bool, sections ...Section) damageCase {
		want := make(map[string][]byte)
		for _, s := range sections {
			want[s.Key] = bytes.Join(s.Spans, nil)
		}
		return damageCase{name, encodeFile(t, o, sections...), want, everyBit}
	}
	split := spanSection("split", noise.bytes(rng, minChunkSize+50))
	split.Stores = func(c int) bool { return c == 1 }
	small := spanSection("small", noise.bytes(rng, 20))
	empty := spanSection("empty")
	large := spanSection("large", noise.bytes(rng, alignedChunk+100))
	return []damageCase{
		make1("no sections", Options{}, true),
		make1("raw", Options{}, true, small, empty, spanSection("other", noise.bytes(rng, 30))),
		make1("lz4", Options{ChunkSize: minChunkSize, Compression: Always}, true, small, spanSection("zeros", zeroes.bytes(rng, 2*minChunkSize))),
		make1("split", Options{ChunkSize: minChunkSize, Compression: Off}, true, split, small),
		make1("aligned", Options{}, false, small, large, empty, spanSection("large 2", large.Spans[0])),
		make1("aligned lz4", Options{Compression: Always}, false, small, spanSection("smooth", smooth.bytes(rng, alignedChunk+100)), spanSection("small 2", []byte("0123456789"))),
	}
}

// bits are the positions to flip: all of them, or all outside of chunks and
// some of each chunk.
func (c *damageCase) bits(t *testing.T, rng *rand.Rand) []int {
	var bits []int
	inChunk := make([]bool, len(c.data))
	if !c.everyBit {
		r := openFile(t, c.data)
		for i := range r.x.chunks {
			rec := &r.x.chunks[i]
			for at := rec.offset + 1; at < rec.offset+int64(rec.stored)-1; at++ {
				inChunk[at] = true
			}
			for range 20 {
				bits = append(bits, 8*(int(rec.offset)+rng.IntN(int(rec.stored)))+rng.IntN(8))
			}
		}
	}
	for at := range c.data {
		if inChunk[at] {
			continue
		}
		if c.everyBit {
			for b := range 8 {
				bits = append(bits, 8*at+b)
			}
		} else {
			bits = append(bits, 8*at+rng.IntN(8))
		}
	}
	return bits
}

func TestEveryFlippedBitIsFound(t *testing.T) {
	rng := testseed.Rand(t)
	for _, c := range damageCases(t, rng) {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, inspect(c.data, c.want))
			data := bytes.Clone(c.data)
			bits := c.bits(t, rng)
			first, step := every(rng)
			for i := first; i < len(bits); i += step {
				bit := bits[i]
				data[bit/8] ^= 1 << (bit % 8)
				find := verifyFile
				if c.everyBit || i%16 == 0 {
					find = inspect
				}
				requireDamaged(t, find(data, c.want), "bit %d of byte %d of %d", bit%8, bit/8, len(data))
				data[bit/8] ^= 1 << (bit % 8)
			}
		})
	}
}

// every is how a test goes through a file: all of it, with -short one place of seven.
func every(rng *rand.Rand) (first, step int) {
	if testing.Short() {
		return rng.IntN(7), 7
	}
	return 0, 1
}

// verifyFile is inspect without reading the sections.
func verifyFile(data []byte, _ map[string][]byte) error {
	r, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	return r.Verify(context.Background())
}

// requireDamaged is quick, as it is called for each bit of a file.
func requireDamaged(t *testing.T, err error, format string, args ...any) {
	if _, ok := err.(*DamageError); !ok {
		require.Failf(t, "want a *DamageError", "%s: %v", fmt.Sprintf(format, args...), err)
	}
}

func TestTruncatedFilesAreFound(t *testing.T) {
	rng := testseed.Rand(t)
	for _, c := range damageCases(t, rng) {
		t.Run(c.name, func(t *testing.T) {
			first, step := every(rng)
			if !c.everyBit {
				step = 61
			}
			for n := first; n < len(c.data); n += step {
				requireDamaged(t, inspect(c.data[:n], c.want), "truncated to %d of %d bytes", n, len(c.data))
				// The length is still what it was, the rest was never written.
				zeroed := make([]byte, len(c.data))
				if copy(zeroed, c.data[:n]); !bytes.Equal(zeroed, c.data) {
					requireDamaged(t, inspect(zeroed, c.want), "zeros from %d of %d bytes", n, len(c.data))
				}
				_, err := ReadHeader(bytes.NewReader(c.data[:n]), int64(n))
				if int64(n) < openFile(t, c.data).headerEnd {
					requireDamaged(t, err, "header of %d bytes", n)
				} else {
					require.NoError(t, err)
				}
			}
		})
	}
}

func TestOtherFilesAreFound(t *testing.T) {
	rng := testseed.Rand(t)
	for _, c := range damageCases(t, rng) {
		for name, data := range map[string][]byte{
			"byte appended":  append(bytes.Clone(c.data), 0),
			"zeros appended": append(bytes.Clone(c.data), make([]byte, alignment)...),
			"file twice":     append(bytes.Clone(c.data), c.data...),
			"byte in front":  append([]byte{0}, c.data...),
			"byte missing":   slices.Delete(bytes.Clone(c.data), len(c.data)/2, len(c.data)/2+1),
			"byte inserted":  slices.Insert(bytes.Clone(c.data), len(c.data)/2, 0),
			"text mode":      bytes.ReplaceAll(bytes.Clone(c.data), []byte("\r\n"), []byte("\n")),
			"zeros":          make([]byte, len(c.data)),
			"noise":          noise.bytes(rng, len(c.data)),
			"text":           bytes.Repeat([]byte("hello\n"), len(c.data)/6+1),
		} {
			requireDamaged(t, inspect(data, c.want), "%s: %s", c.name, name)
		}
	}
	requireDamaged(t, inspect(nil, nil), "empty file")
	_, err := ReadHeader(bytes.NewReader(nil), 0)
	requireDamaged(t, err, "empty file")
	_, err = Open(bytes.NewReader(nil), -1)
	requireDamaged(t, err, "negative size")
}

// Chunks of equal size, exchanged within the file.
func TestSwappedChunksAreFound(t *testing.T) {
	rng := testseed.Rand(t)
	for _, compression := range []Compression{Off, Always} {
		raw := slices.Concat(smooth.bytes(rng, minChunkSize), noise.bytes(rng, minChunkSize), patches.bytes(rng, minChunkSize))
		other := noise.bytes(rng, 100)
		data := encodeFile(t, Options{ChunkSize: minChunkSize, Compression: compression},
			spanSection("a", raw), spanSection("b", noise.bytes(rng, minChunkSize)), spanSection("c", other), spanSection("d", noise.bytes(rng, 100)))
		r := openFile(t, data)
		swapped := 0
		for i := range r.x.chunks {
			for j := range i {
				x, y := &r.x.chunks[i], &r.x.chunks[j]
				if x.stored != y.stored {
					continue
				}
				bad := bytes.Clone(data)
				copy(bad[x.offset:], data[y.offset:][:y.stored])
				copy(bad[y.offset:], data[x.offset:][:x.stored])
				requireDamaged(t, openFile(t, bad).Verify(context.Background()), "chunks %d and %d", i, j)
				swapped++
			}
		}
		require.GreaterOrEqual(t, swapped, 2)
	}
}

// Ends and beginnings of two files put together, also of two files with the
// same header or the same values.
func TestMixedFilesAreFound(t *testing.T) {
	rng := testseed.Rand(t)
	encode := func(version uint64, raw []byte) []byte {
		h := someHeader()
		h.Version = version
		var b bytes.Buffer
		_, err := newTestEncoder(t, Options{}).Encode(context.Background(), &b, h, []Section{spanSection("a", raw)})
		require.NoError(t, err)
		return b.Bytes()
	}
	one, two := noise.bytes(rng, 500), noise.bytes(rng, 500)
	files := map[string][]byte{"one": encode(1, one), "two": encode(1, two), "one again": encode(2, one)}
	r := openFile(t, files["one"])
	cuts := []int64{preambleSize, r.headerEnd, r.trailer.footerOffset, r.trailer.fileSize - trailerSize, r.trailer.fileSize - 8}
	for a, first := range files {
		for b, second := range files {
			for _, at := range cuts {
				mixed := slices.Concat(first[:at], second[at:])
				if bytes.Equal(mixed, first) || bytes.Equal(mixed, second) {
					continue
				}
				requireDamaged(t, inspect(mixed, map[string][]byte{"a": one}), "%s up to %d, then %s", a, at, b)
			}
		}
	}
}

// What is wrong with one section does not keep the others from being read.
func TestOtherSectionsOfADamagedFile(t *testing.T) {
	rng := testseed.Rand(t)
	want := map[string][]byte{"a": noise.bytes(rng, 200), "b": noise.bytes(rng, alignedChunk), "c": smooth.bytes(rng, alignedChunk)}
	var sections []Section
	for _, key := range slices.Sorted(maps.Keys(want)) {
		sections = append(sections, spanSection(key, want[key]))
	}
	data := encodeFile(t, Options{}, sections...)
	for i, rec := range openFile(t, data).x.chunks {
		bad := bytes.Clone(data)
		bad[int(rec.offset)+rng.IntN(int(rec.stored))] ^= 4
		r := openFile(t, bad)
		for j, s := range sections {
			got, err := readAll(sectionOf(t, r, s.Key))
			if i != j {
				require.NoError(t, err)
				requireSame(t, want[s.Key], got, s.Key)
				continue
			}
			var damage *DamageError
			require.ErrorAs(t, err, &damage)
			require.ErrorIs(t, err, ErrDamaged)
			require.Equal(t, s.Key, damage.Section)
			require.Equal(t, rec.offset, damage.Offset)
			require.Contains(t, err.Error(), `"`+s.Key+`"`)
		}
	}
}

// The chunk that is kept for partial reads is forgotten when another one, which
// is damaged, was read into its place.
func TestPartialReadsAroundADamagedChunk(t *testing.T) {
	raw := noise.bytes(testseed.Rand(t), 2*minChunkSize)
	data := encodeFile(t, Options{ChunkSize: minChunkSize}, spanSection("a", raw))
	data[openFile(t, data).x.chunks[1].offset+7] ^= 1
	s := sectionOf(t, openFile(t, data), "a")
	p := make([]byte, 100)
	for range 3 {
		_, err := s.ReadAt(p, 10)
		require.NoError(t, err)
		requireSame(t, raw[10:110], p, "chunk 0")
		_, err = s.ReadAt(p, minChunkSize+10)
		require.ErrorIs(t, err, ErrDamaged)
	}
}
