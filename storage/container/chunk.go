package container

import "fmt"

const (
	minChunkSize     = 4 << 10
	defaultChunkSize = 4 << 20
	maxChunkSize     = 64 << 20

	// smallChunk is the raw size below which a chunk is never compressed and
	// is copied together with its neighbours.
	smallChunk = 16 << 10

	// A section whose first stored chunk has alignedChunk raw bytes or more
	// starts at a multiple of alignment.
	alignedChunk = 64 << 10
	alignment    = 4 << 10

	// maxExpansion bounds how many raw bytes a byte of an LZ4 block can make.
	maxExpansion = 255
)

// chunkKind says what the file holds of a chunk.
type chunkKind uint8

const (
	kindRaw       chunkKind = 0 // its raw bytes
	kindLZ4       chunkKind = 1 // one LZ4 block
	kindElsewhere chunkKind = 2 // nothing: another rank's file has it
	kindReference chunkKind = 3 // nothing: the file of an older version has it
)

// chunkRecord is the entry of one chunk in the footer.
type chunkRecord struct {
	offset int64  // in the file that has it; 0 if elsewhere
	stored uint32 // bytes in that file; 0 if elsewhere
	kind   chunkKind
	there  chunkKind // of a reference: raw or LZ4
	ref    uint16    // of a reference: index in the table of versions
	crc    uint32    // of the stored bytes; 0 if elsewhere
	rawCRC uint32    // of the raw bytes
}

// here reports whether the file itself has the bytes.
func (r *chunkRecord) here() bool { return r.kind == kindRaw || r.kind == kindLZ4 }

const chunkRecordSize = 24

func appendChunkRecord(b []byte, r *chunkRecord) []byte {
	b = le.AppendUint64(b, uint64(r.offset))
	b = le.AppendUint32(b, r.stored)
	// Since 1.1 with what a reference says behind the lowest byte.
	b = le.AppendUint32(b, uint32(r.kind)|uint32(r.there)<<8|uint32(r.ref)<<16)
	b = le.AppendUint32(b, r.crc)
	return le.AppendUint32(b, r.rawCRC)
}

func parseChunkRecord(p []byte) (chunkRecord, error) {
	r := chunkRecord{
		offset: int64(le.Uint64(p)),
		stored: le.Uint32(p[8:]),
		crc:    le.Uint32(p[16:]),
		rawCRC: le.Uint32(p[20:]),
	}
	kind := le.Uint32(p[12:])
	if chunkKind(kind) == kindReference {
		r.there, r.ref = chunkKind(kind>>8), uint16(kind>>16)
		kind &= 0xff
	}
	if kind > uint32(kindReference) || r.there > kindLZ4 {
		return r, unsupportedf("chunk of kind %#x, this program reads kinds 0 to %d", le.Uint32(p[12:]), kindReference)
	}
	r.kind = chunkKind(kind)
	return r, nil
}

// problem says why the record cannot describe a chunk of n raw bytes; "" if it
// can.
func (r *chunkRecord) problem(n int) string {
	kind := r.kind
	if kind == kindReference {
		kind = r.there
	}
	switch kind {
	case kindRaw:
		if int64(r.stored) != int64(n) {
			return fmt.Sprintf("raw chunk of %d bytes is stored as %d", n, r.stored)
		}
		if r.crc != r.rawCRC {
			return "raw chunk with two checksums"
		}
	case kindLZ4:
		if r.stored == 0 || int64(r.stored) >= int64(n) || int64(n) > maxExpansion*int64(r.stored) {
			return fmt.Sprintf("chunk of %d bytes cannot be compressed to %d", n, r.stored)
		}
	case kindElsewhere:
		if r.offset != 0 || r.stored != 0 || r.crc != 0 {
			return "chunk of another file has a place in this one"
		}
	}
	return ""
}

// geometry is how a value is cut into chunks.
type geometry struct {
	size      int64 // raw bytes
	chunkSize int
}

// chunks is the number of chunks; none for an empty value.
func (g geometry) chunks() int64 {
	n := g.size / int64(g.chunkSize)
	if g.size%int64(g.chunkSize) != 0 {
		n++
	}
	return n
}

// rawLen is the number of raw bytes of chunk c.
func (g geometry) rawLen(c int) int {
	return int(min(int64(g.chunkSize), g.size-int64(c)*int64(g.chunkSize)))
}

func validChunkSize(n int) bool {
	return n >= minChunkSize && n <= maxChunkSize && n&(n-1) == 0
}
