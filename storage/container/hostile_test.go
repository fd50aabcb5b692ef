package container

import (
	"bytes"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// rebuild returns the file with a changed index, with all checksums right.
func rebuild(t testing.TB, data []byte, change func(x *index)) []byte {
	r := openFile(t, data)
	x := index{slices.Clone(r.x.entries), slices.Clone(r.x.chunks), r.x.table, slices.Clone(r.x.refs)}
	change(&x)
	tail := make([]byte, trailerSize)
	le.PutUint64(tail, uint64(r.trailer.footerOffset))
	bad := slices.Concat(data[:r.trailer.footerOffset], x.append(nil), tail)
	resign(bad)
	return bad
}

// patch returns the file with other bytes at an offset, with all checksums right.
func patch(data []byte, at int64, p ...byte) []byte {
	bad := bytes.Clone(data)
	copy(bad[at:], p)
	resign(bad)
	return bad
}

func u16(v uint16) []byte { return le.AppendUint16(nil, v) }
func u32(v uint32) []byte { return le.AppendUint32(nil, v) }
func u64(v uint64) []byte { return le.AppendUint64(nil, v) }

// hostileFile has three raw chunks, a compressed one and an empty section.
func hostileFile(t testing.TB) []byte {
	raw := noise.bytes(rand.New(rand.NewPCG(1, 0)), 2*minChunkSize+10)
	matrix := spanSection("m", raw[:48])
	matrix.Desc = Desc{Elem: Float64, Shape: []int64{2, 3}, Dist: Partitioned, Global: []int64{4, 3}, Box: Box{Lo: []int64{1, 0}, Hi: []int64{3, 3}}}
	opaque := spanSection("z", make([]byte, minChunkSize))
	opaque.Desc = Desc{Elem: Opaque}
	return encodeFile(t, Options{ChunkSize: minChunkSize, Compression: Always},
		opaque, matrix, Section{Key: "r", Desc: Desc{Elem: Opaque}, Spans: [][]byte{raw}}, spanSection("e"))
}

// Chunk numbers and sections of hostileFile.
const (
	packedChunk = 0 // of section 0
	firstRaw    = 2 // of section 2, which has three
)

// requireOpenFails opens a file, with an allocation in proportion to its size.
func requireOpenFails(t *testing.T, data []byte, want error, name string) {
	var err error
	n := allocated(func() { _, err = Open(bytes.NewReader(data), int64(len(data))) })
	require.ErrorIs(t, err, want, name)
	if want == ErrUnsupported {
		require.NotErrorIs(t, err, ErrDamaged, name)
	}
	require.Less(t, n, int64(1<<20+16*len(data)), name)
}

// Indexes with right checksums that describe what cannot be.
func TestHostileIndex(t *testing.T) {
	data := hostileFile(t)
	require.NoError(t, openFile(t, rebuild(t, data, func(*index) {})).Verify(context.Background()))
	size := int64(len(data))
	for name, change := range map[string]func(x *index){
		"chunks overlap":            func(x *index) { x.chunks[firstRaw+1].offset-- },
		"chunks at one place":       func(x *index) { x.chunks[firstRaw+1].offset = x.chunks[firstRaw].offset },
		"chunk in the header":       func(x *index) { x.chunks[0].offset = 8 },
		"chunk at 0":                func(x *index) { x.chunks[0].offset = 0 },
		"chunk at a negative place": func(x *index) { x.chunks[0].offset = math.MinInt64 },
		"chunk behind the file":     func(x *index) { x.chunks[4].offset = size + 1 },
		"chunk far behind":          func(x *index) { x.chunks[4].offset = math.MaxInt64 - 5 },
		"chunk into the footer":     func(x *index) { x.chunks[4].offset += 1 },
		"gap":                       func(x *index) { x.chunks[1].offset += alignment },
		"bytes of no chunk":         func(x *index) { x.chunks[4] = chunkRecord{kind: kindElsewhere} },
		"raw chunk too long":        func(x *index) { x.chunks[firstRaw].stored++ },
		"raw chunk too short":       func(x *index) { x.chunks[firstRaw].stored-- },
		"raw chunk of 4 GiB":        func(x *index) { x.chunks[firstRaw].stored = math.MaxUint32 },
		"two checksums":             func(x *index) { x.chunks[firstRaw].rawCRC++ },
		"nothing compressed":        func(x *index) { x.chunks[packedChunk].stored = 0 },
		"compressed beyond LZ4":     func(x *index) { x.chunks[packedChunk].stored = minChunkSize / 256 },
		"compressed to more":        func(x *index) { x.chunks[packedChunk].stored = minChunkSize },
		"compressed to 4 GiB":       func(x *index) { x.chunks[packedChunk].stored = math.MaxUint32 },
		"elsewhere, but here":       func(x *index) { x.chunks[firstRaw].kind = kindElsewhere },
		"key twice":                 func(x *index) { x.entries[1].key = "z" },
		"no key":                    func(x *index) { x.entries[1].key = "" },
		"key of other bytes":        func(x *index) { x.entries[1].key = "\xff" },
		"long key":                  func(x *index) { x.entries[1].key = string(make([]byte, maxKey+1)) },
		"chunk size 4097":           func(x *index) { x.entries[1].geom.chunkSize++ },
		"chunk size 2048":           func(x *index) { x.entries[1].geom.chunkSize = 2048 },
		"chunk size 2 GiB":          func(x *index) { x.entries[1].geom.chunkSize = 1 << 31 },
		"negative extent":           func(x *index) { x.entries[1].desc.Shape = []int64{-2, -3} },
		"shape of another size":     func(x *index) { x.entries[3].desc.Shape = []int64{1} },
		"shape beyond 64 bits":      func(x *index) { x.entries[3].desc.Shape = []int64{1 << 40, 1 << 40} },
		"33 dimensions":             func(x *index) { x.entries[3].desc.Shape = make([]int64, 33) },
		"box outside":               func(x *index) { x.entries[1].desc.Global = []int64{2, 3} },
		"box of another shape":      func(x *index) { x.entries[1].desc.Box.Lo = []int64{0, 0} },
		"box of 1 dimension":        func(x *index) { x.entries[1].desc.Shape = []int64{6} },
		"box of a local value":      func(x *index) { x.entries[1].desc.Dist = Local },
		"opaque box":                func(x *index) { x.entries[1].desc.Elem = Opaque },
	} {
		requireOpenFails(t, rebuild(t, data, change), ErrDamaged, name)
	}
}

// Compressed chunks with right checksums whose blocks are not what they should
// be: found when they are read, never by writing beyond the memory.
func TestHostileBlocks(t *testing.T) {
	data := hostileFile(t)
	at := openFile(t, data).x.chunks[packedChunk]
	for name, change := range map[string]func(x *index, block []byte){
		"claims a byte more":     func(x *index, _ []byte) { x.entries[0].geom.size-- },
		"claims many bytes more": func(x *index, _ []byte) { x.entries[0].geom.size -= 1000 },
		"other contents":         func(x *index, _ []byte) { x.chunks[packedChunk].rawCRC++ },
		"other raw bytes":        func(_ *index, b []byte) { b[1] ^= 1 },
		"zeros":                  func(_ *index, b []byte) { clear(b) },
		"ones":                   func(_ *index, b []byte) { copy(b, bytes.Repeat([]byte{255}, len(b))) },
		"offset before the data": func(_ *index, b []byte) { copy(b[2:], u16(60000)) },
		"offset 0":               func(_ *index, b []byte) { copy(b[2:], u16(0)) },
	} {
		bad := bytes.Clone(data)
		block := bad[at.offset:][:at.stored]
		bad = rebuild(t, bad, func(x *index) {
			change(x, block)
			x.chunks[packedChunk].crc = checksum(block)
		})
		copy(bad[at.offset:], block)
		r := openFile(t, bad)
		s := sectionOf(t, r, "z")
		n := int(s.Info().Size)
		// The bytes behind the memory stay as they are.
		p := bytes.Repeat([]byte{7}, n+64)
		require.ErrorIs(t, s.ReadSpans(context.Background(), [][]byte{p[:n:n]}), ErrDamaged, name)
		require.Equal(t, bytes.Repeat([]byte{7}, 64), p[n:], name)
		require.ErrorIs(t, s.ReadSpans(context.Background(), rows(p[:n], 24)), ErrDamaged, name)
		_, err := s.ReadAt(p[:10], 5)
		require.ErrorIs(t, err, ErrDamaged, name)
		_, err = io.ReadAll(s.NewReader(context.Background()))
		require.ErrorIs(t, err, ErrDamaged, name)
		require.ErrorIs(t, r.Verify(context.Background()), ErrDamaged, name)
	}
}

// Fields with right checksums that ask for more than there is.
func TestHostileLengths(t *testing.T) {
	data := hostileFile(t)
	r := openFile(t, data)
	body, footer := int64(preambleSize), r.trailer.footerOffset
	record := footer + footerPrefixSize
	trailerAt := r.trailer.fileSize - trailerSize
	for _, c := range []struct {
		name string
		at   int64
		p    []byte
	}{
		{"header of 4 GiB", 20, u32(math.MaxUint32)},
		{"header as long as the file", 20, u32(uint32(len(data) - preambleSize - 4))},
		{"header of no bytes", 20, u32(0)},
		{"header of a few bytes", 20, u32(30)},
		{"version 0", body + 24, u64(0)},
		{"nanoseconds", body + 48, u32(1e9)},
		{"rank beyond the size", body + 52, u32(4)},
		{"size 0", body + 56, u32(0)},
		{"size of 4 Gi ranks", body + 56, u32(math.MaxUint32)},
		{"name", body + 60, u16(math.MaxUint16)},
		{"ancestors", body + 62, u16(math.MaxUint16)},
		{"as many ancestors as allowed", body + 62, u16(maxAncestors)},
		{"fingerprint of 4 GiB", body + 64, u32(math.MaxUint32)},
		{"fingerprint of 1 MiB", body + 64, u32(MaxFingerprint)},
		{"4 Gi sections", footer + 4, u32(math.MaxUint32)},
		{"one section more", footer + 4, u32(5)},
		{"two sections less", footer + 4, u32(2)},
		{"record of 4 GiB", record, u32(math.MaxUint32)},
		{"record of no bytes", record, u32(0)},
		{"record of 7 bytes", record, u32(7)},
		{"record up to the key", record, u32(sectionFixedSize)},
		{"size 0 of the section", record + 8, u64(0)},
		{"size of 2^63", record + 8, u64(1 << 63)},
		{"size of 2^62", record + 8, u64(1 << 62)},
		{"other digest", record + 16, u64(1)},
		{"chunk size 0", record + 24, u32(0)},
		{"chunk size of 4 GiB", record + 24, u32(math.MaxUint32)},
		{"4 Gi chunks", record + 28, u32(math.MaxUint32)},
		{"no chunks", record + 28, u32(0)},
		{"dimensions", record + 34, []byte{255}},
		{"global dimensions", record + 35, []byte{255}},
		{"key", record + 36, u16(math.MaxUint16)},
		{"type", record + 38, u16(math.MaxUint16)},
		{"footer in the header", trailerAt, u64(8)},
		{"footer of a negative offset", trailerAt, u64(math.MaxUint64)},
		{"footer behind the trailer", trailerAt, u64(uint64(r.trailer.fileSize))},
		{"footer of no bytes", trailerAt, u64(uint64(trailerAt))},
		{"footer of 4 bytes", trailerAt, u64(uint64(trailerAt - 4))},
	} {
		requireOpenFails(t, patch(data, c.at, c.p...), ErrDamaged, c.name)
	}
	// A size and a number of chunks that fit one another, but not the record.
	big := patch(data, record+8, slices.Concat(u64(maxChunks*minChunkSize), u64(0), u32(minChunkSize), u32(maxChunks))...)
	requireOpenFails(t, big, ErrDamaged, "2^27 chunks")
}

// What a newer version writes, with right checksums, is not damage.
func TestFilesOfNewerVersions(t *testing.T) {
	data := hostileFile(t)
	r := openFile(t, data)
	footer := r.trailer.footerOffset
	record := footer + footerPrefixSize
	firstChunk := record + sectionFixedSize + 1
	for _, c := range []struct {
		name string
		at   int64
		p    []byte
	}{
		{"format 2.0", 12, u16(2)},
		{"format 0.0", 12, u16(0)},
		{"flags of the header", 16, u32(1)},
		{"flags of the footer", footer, u32(1)},
		{"flags of a section", record + 4, u32(1 << 31)},
		{"element type", record + 32, []byte{15}},
		{"distribution", record + 33, []byte{3}},
		{"chunk records of 32 bytes", record + 40, u32(32)},
		{"reference to a chunk of another kind", firstChunk + 12, u32(uint32(kindReference) | 2<<8)},
		{"kind of chunk", firstChunk + 12, u32(255)},
		{"flags of the trailer", r.trailer.fileSize - trailerSize + 32, u32(1)},
	} {
		requireOpenFails(t, patch(data, c.at, c.p...), ErrUnsupported, c.name)
	}
	_, err := Open(bytes.NewReader(patch(data, 12, slices.Concat(u16(2), u16(5))...)), int64(len(data)))
	require.ErrorContains(t, err, "2.5")
	require.ErrorContains(t, err, "1.x")
}

// Tagged fields with right checksums that cannot be.
func TestHostileFields(t *testing.T) {
	h := someHeader()
	h.Fields = Fields{{7, []byte("seven")}, {9, []byte("nine")}}
	data := encodeHeader(t, h, spanSection("a", []byte("value")))
	first := openFile(t, data).headerEnd - 4 - int64(len(h.Fields.append(nil)))
	second := first + 2 + 6 + 5
	for _, c := range []struct {
		name string
		at   int64
		p    []byte
	}{
		{"one field more", first, u16(3)},
		{"as many fields as allowed", first, u16(maxFields)},
		{"65535 fields", first, u16(math.MaxUint16)},
		{"a field twice", second, u16(7)},
		{"descending", second, u16(6)},
		{"a field of 1 MiB", second + 2, u32(maxFieldBytes)},
		{"a field of 4 GiB", second + 2, u32(math.MaxUint32)},
		{"a field that takes the next one", first + 4, u32(12)},
	} {
		requireOpenFails(t, patch(data, c.at, c.p...), ErrDamaged, c.name)
	}
	end := openFile(t, data).headerEnd - 4
	many := Fields{}
	for i := range maxFields + 1 {
		many = append(many, Field{ID: FieldID(i)})
	}
	large := Fields{{1, make([]byte, maxFieldBytes)}, {2, []byte{1}}}
	for name, f := range map[string]Fields{"many": many, "large": large} {
		h.Fields = f
		_, err := newTestEncoder(t, Options{}).Encode(t.Context(), io.Discard, h, nil)
		require.ErrorIs(t, err, ErrInvalid, name)
		bad := slices.Concat(data[:first], f.append(nil), data[end:])
		copy(bad[20:], u32(le.Uint32(data[20:])+uint32(len(bad)-len(data))))
		_, err = ReadHeader(bytes.NewReader(signHeader(bad)), int64(len(bad)))
		require.ErrorIs(t, err, ErrDamaged, name)
	}
}

// Additions of a newer minor version are left out.
func TestAdditionsOfANewerMinorVersion(t *testing.T) {
	h := someHeader()
	h.Fields = Fields{{math.MaxUint16, []byte("unknown")}}
	data := encodeHeader(t, h, spanSection("a", []byte("value")))
	r := openFile(t, data)
	footer, trailerAt := r.trailer.footerOffset, r.trailer.fileSize-trailerSize
	extra := []byte("something new")
	newer := slices.Concat(data[:r.headerEnd-4], extra, data[r.headerEnd-4:trailerAt], extra, extra, data[trailerAt:])
	n := int64(len(extra))
	copy(newer[14:], u16(9))
	copy(newer[20:], u32(le.Uint32(data[20:])+uint32(n)))
	record := footer + n + footerPrefixSize
	copy(newer[record:], u32(le.Uint32(newer[record:])+uint32(n)))
	chunk := trailerAt + n - chunkRecordSize
	copy(newer[chunk:], u64(le.Uint64(newer[chunk:])+uint64(n)))
	copy(newer[int64(len(newer))-trailerSize:], u64(uint64(footer+n)))
	resign(newer)
	require.NoError(t, inspect(newer, map[string][]byte{"a": []byte("value")}))
	require.Equal(t, h, openFile(t, newer).Header())

	// What 1.0 allows behind its fields are not those of 1.1.
	data = encodeFile(t, Options{}, spanSection("a", []byte("value")))
	require.Equal(t, u16(0), data[14:16])
	end := openFile(t, data).headerEnd - 4
	padded := slices.Concat(data[:end], extra, data[end:])
	copy(padded[20:], u32(le.Uint32(data[20:])+uint32(n)))
	h, err := ReadHeader(bytes.NewReader(signHeader(padded)), int64(len(padded)))
	require.NoError(t, err)
	require.Equal(t, someHeader(), h)
}

// signHeader makes the checksums of a header right.
func signHeader(data []byte) []byte {
	le.PutUint32(data[24:], checksum(data[:24]))
	end := preambleSize + le.Uint32(data[20:])
	le.PutUint32(data[end:], checksum(data[preambleSize:end]))
	return data
}
