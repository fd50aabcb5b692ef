package container

import (
	"hash/crc32"

	"github.com/zeebo/xxh3"
)

// castagnoli is CRC-32C, which processors compute in hardware. The first call computes its tables.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func checksum(p []byte) uint32 { return crc32.Update(0, castagnoli(), p) }

func extendChecksum(crc uint32, p []byte) uint32 { return crc32.Update(crc, castagnoli(), p) }

// digest is the running 64-bit FNV-1a hash over the description of a value by
// its checksums.
type digest uint64

// newDigest starts the digest of a value of the given raw size and chunk size,
// in bytes; add takes the checksums of its raw chunks in order.
func newDigest(size int64, chunkSize int) digest {
	const offsetBasis = 14695981039346656037
	var b [12]byte
	le.PutUint64(b[:8], uint64(size))
	le.PutUint32(b[8:], uint32(chunkSize))
	d := digest(offsetBasis)
	for _, x := range b {
		d = d.addByte(x)
	}
	return d
}

func (d digest) add(crc uint32) digest {
	return d.addByte(byte(crc)).addByte(byte(crc >> 8)).addByte(byte(crc >> 16)).addByte(byte(crc >> 24))
}

func (d digest) addByte(b byte) digest {
	const prime = 1099511628211
	return (d ^ digest(b)) * prime
}

// hash is the 128-bit XXH3 hash of m, by which a chunk is known to be unchanged:
// a checksum of 32 bits would overlook a change too often.
func (c *compressor) hash(m memory) xxh3.Uint128 {
	if p, ok := m.contiguous(); ok {
		return xxh3.Hash128(p)
	}
	c.hasher.Reset()
	for p := range m.pieces() {
		_, _ = c.hasher.Write(p)
	}
	return c.hasher.Sum128()
}

// AppendDigests appends the digests of the sections of the last Encode, in their
// order: what Info.Digest says when the file is read. There are none if it
// failed.
func (e *Encoder) AppendDigests(dst []uint64) []uint64 {
	if !e.done {
		return dst
	}
	for i := range e.x.entries {
		dst = append(dst, uint64(e.x.entries[i].digest))
	}
	return dst
}

// Digest returns the digest that a value of these bytes has in a file with the
// given chunk size.
func Digest(spans [][]byte, chunkSize int) uint64 {
	g := geometry{totalLen(spans), chunkSize}
	d := newDigest(g.size, chunkSize)
	at := memoryCursor{spans: spans}
	for c := range int(g.chunks()) {
		d = d.add(at.next(g.rawLen(c)).checksum())
	}
	return uint64(d)
}
