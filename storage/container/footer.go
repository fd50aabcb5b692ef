package container

import (
	"fmt"
	"unicode/utf8"
)

const (
	maxKey = 1024
	// maxChunks bounds the chunks of a section so that the length of its record
	// fits 32 bits.
	maxChunks = 1 << 27

	footerPrefixSize = 8  // flags, number of sections
	sectionFixedSize = 44 // a section record up to its key
)

// entry is a section's part of the index: what its record says, and which of
// the file's chunk records are its own.
type entry struct {
	key    string
	desc   Desc
	geom   geometry
	first  int // index of its first chunk record
	digest digest

	inspected Elem // see Section; of what is being written
}

// index is the contents of the footer.
type index struct {
	entries []entry
	chunks  []chunkRecord // of all sections, in order
	table   bool          // there is a table of versions
	refs    []ref         // its entries
}

func (x *index) chunksOf(e *entry) []chunkRecord {
	n := int(e.geom.chunks())
	return x.chunks[e.first : e.first+n : e.first+n]
}

// append appends the encoded footer to b, computing the digests on the way.
func (x *index) append(b []byte) []byte {
	b = le.AppendUint32(b, 0) // flags
	b = le.AppendUint32(b, uint32(len(x.entries)))
	var last geometry
	var begun digest // of a value like the last one: among many small ones most are
	for i := range x.entries {
		e := &x.entries[i]
		if i == 0 || e.geom != last {
			last, begun = e.geom, newDigest(e.geom.size, e.geom.chunkSize)
		}
		b = x.appendSection(b, e, begun)
	}
	if x.table {
		b = appendRefs(b, x.refs)
	}
	return b
}

func (x *index) appendSection(b []byte, e *entry, begun digest) []byte {
	start := len(b)
	chunks := x.chunksOf(e)
	e.digest = begun
	for i := range chunks {
		e.digest = e.digest.add(chunks[i].rawCRC)
	}
	d := &e.desc
	b = le.AppendUint32(b, 0) // length
	b = le.AppendUint32(b, 0) // flags
	b = le.AppendUint64(b, uint64(e.geom.size))
	b = le.AppendUint64(b, uint64(e.digest))
	b = le.AppendUint32(b, uint32(e.geom.chunkSize))
	b = le.AppendUint32(b, uint32(len(chunks)))
	b = append(b, byte(d.Elem), byte(d.Dist), byte(len(d.Shape)), byte(len(d.Global)))
	b = le.AppendUint16(b, uint16(len(e.key)))
	b = le.AppendUint16(b, uint16(len(d.Type)))
	b = le.AppendUint32(b, chunkRecordSize)
	b = append(b, e.key...)
	b = append(b, d.Type...)
	for _, extents := range [...][]int64{d.Shape, d.Global, d.Box.Lo, d.Box.Hi} {
		for _, v := range extents {
			b = le.AppendUint64(b, uint64(v))
		}
	}
	for i := range chunks {
		b = appendChunkRecord(b, &chunks[i])
	}
	le.PutUint32(b[start:], uint32(len(b)-start))
	return b
}

// footerParser decodes the footer. Chunks must follow one another in the file,
// from the end of the header to the footer, with less than one alignment of
// padding between them: so that every byte belongs to something.
type footerParser struct {
	cursor
	h    *Header
	base int64 // offset of the footer in the file
	end  int64 // end of what the chunks so far take
	x    index
}

// parseFooter decodes a footer whose checksum is right. h is the file's header,
// headerEnd is where the chunks begin, base where the footer does.
func parseFooter(p []byte, h *Header, headerEnd, base int64) (index, error) {
	f := footerParser{cursor: cursor{p: p}, h: h, base: base, end: headerEnd}
	flags, n := f.u32("flags"), f.u32("number of sections")
	if flags != 0 && f.bad == "" {
		return index{}, unsupportedf("footer has flags %#x, which this program does not know", flags)
	}
	if int64(n) > int64(len(p)/sectionFixedSize) {
		return index{}, f.damage("", fmt.Sprintf("%d sections do not fit", n))
	}
	f.x.entries = make([]entry, 0, n)
	for range n {
		if err := f.section(); err != nil {
			return index{}, err
		}
	}
	if f.bad != "" {
		return index{}, f.damage("", f.bad)
	}
	if f.end != base {
		return index{}, f.damage("", fmt.Sprintf("chunks end at %d, the footer starts at %d", f.end, base))
	}
	if err := f.references(); err != nil {
		return index{}, err
	}
	return f.x, nil
}

func (f *footerParser) damage(key, reason string) error {
	return &DamageError{Section: key, Offset: f.base + int64(f.off), Reason: "footer: " + reason}
}

// section decodes one section record. What follows the fields that this
// version knows is left to newer ones.
func (f *footerParser) section() error {
	start := f.off
	length := int(f.u32("section record"))
	flags := f.u32("section record")
	f.off = start
	record := f.take(length, "section record")
	if f.bad != "" {
		return f.damage("", f.bad)
	}
	if flags != 0 {
		return unsupportedf("section record has flags %#x, which this program does not know", flags)
	}
	c := cursor{p: record, off: min(8, length)}
	e := entry{first: len(f.x.chunks)}
	size := c.u64("size")
	e.digest = digest(c.u64("digest"))
	e.geom = geometry{int64(size), int(c.u32("chunk size"))}
	chunks := int64(c.u32("chunks"))
	e.desc.Elem, e.desc.Dist = Elem(c.u8("element type")), Dist(c.u8("distribution"))
	dims, globalDims := int(c.u8("dimensions")), int(c.u8("dimensions"))
	keyLen, typeLen := int(c.u16("key")), int(c.u16("type"))
	recordSize := int64(c.u32("chunk record size"))
	e.key, e.desc.Type = string(c.take(keyLen, "key")), string(c.take(typeLen, "type"))
	e.desc.Shape = c.i64s(dims, "shape")
	e.desc.Global = c.i64s(globalDims, "global shape")
	e.desc.Box = Box{Lo: c.i64s(globalDims, "box"), Hi: c.i64s(globalDims, "box")}
	if c.bad != "" {
		return f.damage(e.key, c.bad)
	}
	if !e.desc.Elem.known() || e.desc.Dist > Partitioned || recordSize != chunkRecordSize {
		return unsupportedf("section %q has element type %d, distribution %d, chunk records of %d bytes, one of which this program does not know",
			e.key, e.desc.Elem, e.desc.Dist, recordSize)
	}
	if p := e.problem(); p != "" {
		return f.damage(e.key, p)
	}
	if chunks != e.geom.chunks() || chunks > int64(len(record)/chunkRecordSize) {
		return f.damage(e.key, fmt.Sprintf("%d chunk records for %d bytes in chunks of %d", chunks, e.geom.size, e.geom.chunkSize))
	}
	records := c.take(int(chunks)*chunkRecordSize, "chunk records")
	if c.bad != "" {
		return f.damage(e.key, c.bad)
	}
	if err := f.chunks(&e, records); err != nil {
		return err
	}
	f.x.entries = append(f.x.entries, e)
	return nil
}

func (f *footerParser) chunks(e *entry, records []byte) error {
	d := newDigest(e.geom.size, e.geom.chunkSize)
	for i := 0; len(records) > 0; i++ {
		r, err := parseChunkRecord(records)
		if err != nil {
			return err
		}
		records = records[chunkRecordSize:]
		if p := r.problem(e.geom.rawLen(i)); p != "" {
			return f.damage(e.key, fmt.Sprintf("chunk %d: %s", i, p))
		}
		if r.here() {
			if r.offset < f.end || r.offset-f.end >= alignment || int64(r.stored) > f.base-r.offset {
				return f.damage(e.key, fmt.Sprintf("chunk %d: %d bytes at %d, while the one before ends at %d and the footer starts at %d",
					i, r.stored, r.offset, f.end, f.base))
			}
			f.end = r.offset + int64(r.stored)
		}
		d = d.add(r.rawCRC)
		f.x.chunks = append(f.x.chunks, r)
	}
	if d != e.digest {
		return f.damage(e.key, "digest does not fit the checksums")
	}
	return nil
}

// problem says why the entry cannot be in a file; "" if it can.
func (e *entry) problem() string {
	if p := keyProblem(e.key); p != "" {
		return p
	}
	if !validChunkSize(e.geom.chunkSize) {
		return fmt.Sprintf("chunk size %d (allowed: powers of two from %d to %d)", e.geom.chunkSize, minChunkSize, maxChunkSize)
	}
	if e.geom.size < 0 || e.geom.chunks() > maxChunks {
		return fmt.Sprintf("size of %d bytes in chunks of %d (allowed: up to %d chunks)", e.geom.size, e.geom.chunkSize, maxChunks)
	}
	if p := e.desc.problem(); p != "" {
		return p
	}
	return e.desc.sizeProblem(e.geom.size)
}

func keyProblem(key string) string {
	switch {
	case key == "":
		return "empty key"
	case len(key) > maxKey:
		return fmt.Sprintf("key of %d bytes (allowed: up to %d)", len(key), maxKey)
	case !utf8.ValidString(key):
		return "key is not UTF-8"
	}
	return ""
}
