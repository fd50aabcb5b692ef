package exchange

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// MaxName is the longest name of a part, in bytes.
const MaxName = 1024

// The kinds of requests.
const (
	requestCreate byte = 1 + iota
	requestOpen        // what is a part like?
	requestRead        // what is in a range of it?
	requestCancel      // end what the stream's handler is doing: its opener has given up
	requestGone        // the sender serves and wants nothing any more
)

// request is what a rank says to the serving goroutine of another one.
//
//	0  4  "CXR2"
//	4  1  kind
//	5  1  zero
//	6  2  length of the name
//	8  4  stream, or number of the question
//	12 4  largest block, without its trailer; of a range its length
//	16 8  where a range begins
//	24 n  name
//	.. 4  CRC-32C of all that is before
//
// Numbers are little-endian.
type request struct {
	kind byte
	id   uint32
	n    int
	off  int64
	name string
}

const (
	requestMagic  = "CXR2"
	requestHeader = 24
	maxRequest    = requestHeader + MaxName + 4
)

// castagnoli is CRC-32C; the first call computes its tables.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func (r request) encode() []byte {
	b := make([]byte, requestHeader, requestHeader+len(r.name)+4)
	copy(b, requestMagic)
	b[4] = r.kind
	binary.LittleEndian.PutUint16(b[6:], uint16(len(r.name)))
	binary.LittleEndian.PutUint32(b[8:], r.id)
	binary.LittleEndian.PutUint32(b[12:], uint32(r.n))
	binary.LittleEndian.PutUint64(b[16:], uint64(r.off))
	b = append(b, r.name...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
}

// parseRequest accepts exactly what encode makes.
func parseRequest(b []byte) (request, error) {
	bad := func(format string, args ...any) (request, error) {
		return request{}, fmt.Errorf("%w: "+format, append([]any{ErrRequest}, args...)...)
	}
	if len(b) < requestHeader+4 || len(b) > maxRequest {
		return bad("%d bytes, allowed are %d to %d", len(b), requestHeader+4, maxRequest)
	}
	body := b[:len(b)-4]
	if binary.LittleEndian.Uint32(b[len(body):]) != crc32.Checksum(body, castagnoli()) {
		return bad("checksum")
	}
	r := request{
		kind: b[4],
		id:   binary.LittleEndian.Uint32(b[8:]),
		n:    int(binary.LittleEndian.Uint32(b[12:])),
		off:  int64(binary.LittleEndian.Uint64(b[16:])),
		name: string(body[requestHeader:]),
	}
	named := r.kind <= requestRead
	least := minBlock
	if r.kind == requestRead {
		least = 1
	}
	switch {
	case string(b[:4]) != requestMagic:
		return bad("magic %q, expected %q", b[:4], requestMagic)
	case r.kind < requestCreate || r.kind > requestGone || b[5] != 0:
		return bad("kind %d, %d", r.kind, b[5])
	case int(binary.LittleEndian.Uint16(b[6:])) != len(r.name):
		return bad("name of %d bytes, announced were %d", len(r.name), binary.LittleEndian.Uint16(b[6:]))
	case named && (r.n < least || r.n > maxBlock):
		return bad("blocks of %d bytes, allowed are %d to %d", r.n, least, maxBlock)
	case r.off < 0 || r.off > 0 && r.kind != requestRead:
		return bad("kind %d at %d", r.kind, r.off)
	case named == (r.name == "") || !named && r.n != 0:
		return bad("kind %d of the name %q and %d bytes", r.kind, r.name, r.n)
	}
	return r, nil
}
