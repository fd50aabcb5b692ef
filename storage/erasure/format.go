package erasure

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	// magic starts a parity file: a byte with the high bit set, the name, and the
	// line ends that a transfer in text mode would change. endMagic ends it.
	magic    = "\x8bCRAFTP\r\n\x1a\n\x00"
	endMagic = "\x8bPTFARC\n"

	formatMajor = 1 // a reader of another major version cannot read the file
	formatMinor = 0 // counts additions that older readers may ignore

	headerFixed  = 32 // up to the identity
	maxIdentity  = 4096
	memberRecord = 12 // in the footer
	trailerSize  = 32
	crcSize      = 4
)

var le = binary.LittleEndian

// castagnoli is CRC-32C; the first call computes its tables.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func checksum(p []byte) uint32 { return crc32.Checksum(p, castagnoli()) }

// blockChecksum covers the number of the stripe too, so that a block in another
// one's place is found.
func blockChecksum(stripe int64, block []byte) uint32 {
	var b [8]byte
	le.PutUint64(b[:], uint64(stripe))
	return crc32.Update(checksum(b[:]), castagnoli(), block)
}

// Header is what a parity file says about itself at its beginning.
type Header struct {
	Layout Layout
	Member int // whose parity this is
	// Identity is up to 4096 bytes of the caller, the same in all files of a
	// set: which version of which checkpoint, and which ranks are its members.
	Identity []byte
}

func (h *Header) problem() string {
	if p := h.Layout.problem(); p != "" {
		return p
	}
	if h.Member < 0 || h.Member >= h.Layout.Members {
		return fmt.Sprintf("member %d of %d", h.Member, h.Layout.Members)
	}
	if len(h.Identity) > maxIdentity {
		return fmt.Sprintf("identity of %d bytes (allowed: up to %d)", len(h.Identity), maxIdentity)
	}
	return ""
}

func appendHeader(b []byte, h *Header) []byte {
	start := len(b)
	b = append(b, magic...)
	b = le.AppendUint16(b, formatMajor)
	b = le.AppendUint16(b, formatMinor)
	b = le.AppendUint32(b, 0) // flags
	b = le.AppendUint16(b, uint16(h.Layout.Members))
	b = le.AppendUint16(b, uint16(h.Layout.Parity))
	b = le.AppendUint32(b, uint32(h.Layout.Block))
	b = le.AppendUint16(b, uint16(h.Member))
	b = le.AppendUint16(b, uint16(len(h.Identity)))
	b = append(b, h.Identity...)
	return le.AppendUint32(b, checksum(b[start:]))
}

// parseHeader decodes the beginning of a file. It returns the length of the
// header and its checksum, which the trailer repeats.
func parseHeader(p []byte) (h Header, n int, crc uint32, err error) {
	damage := func(format string, args ...any) (Header, int, uint32, error) {
		return Header{}, 0, 0, &DamageError{Reason: "header: " + fmt.Sprintf(format, args...)}
	}
	if len(p) < headerFixed+crcSize {
		return damage("truncated: %d bytes", len(p))
	}
	if string(p[:len(magic)]) != magic {
		return damage("no parity file: starts with %q, not with %q", p[:len(magic)], magic)
	}
	major, minor, flags := le.Uint16(p[12:]), le.Uint16(p[14:]), le.Uint32(p[16:])
	n = headerFixed + int(le.Uint16(p[30:])) + crcSize
	if n > len(p) {
		return damage("truncated: it has %d bytes, the file %d", n, len(p))
	}
	if crc = le.Uint32(p[n-crcSize:]); crc != checksum(p[:n-crcSize]) {
		return damage("checksum")
	}
	if major != formatMajor || flags != 0 {
		return Header{}, 0, 0, fmt.Errorf("erasure: parity file of format version %d.%d with flags %#x, this program reads %d.x without flags: %w",
			major, minor, flags, formatMajor, ErrUnsupported)
	}
	h = Header{
		Layout: Layout{Members: int(le.Uint16(p[20:])), Parity: int(le.Uint16(p[22:])), Block: int(le.Uint32(p[24:]))},
		Member: int(le.Uint16(p[28:])),
	}
	if n > headerFixed+crcSize {
		h.Identity = append([]byte(nil), p[headerFixed:n-crcSize]...)
	}
	if problem := h.problem(); problem != "" {
		return damage("%s", problem)
	}
	return h, n, crc, nil
}

// Parts says what the parts of all members were when the parity was computed,
// by member.
type Parts struct {
	Sizes   []int64  // in bytes
	Digests []uint32 // CRC-32C of the whole part
}

func appendFooter(b []byte, parts Parts) []byte {
	for i, size := range parts.Sizes {
		b = le.AppendUint64(b, uint64(size))
		b = le.AppendUint32(b, parts.Digests[i])
	}
	return b
}

func parseFooter(p []byte) Parts {
	n := len(p) / memberRecord
	parts := Parts{Sizes: make([]int64, n), Digests: make([]uint32, n)}
	for i := range n {
		parts.Sizes[i] = int64(le.Uint64(p[memberRecord*i:]))
		parts.Digests[i] = le.Uint32(p[memberRecord*i+8:])
	}
	return parts
}

// appendTrailer ends a file of fileSize bytes.
func appendTrailer(b []byte, fileSize int64, headerCRC, footerCRC uint32) []byte {
	start := len(b)
	b = le.AppendUint64(b, uint64(fileSize))
	b = le.AppendUint32(b, headerCRC)
	b = le.AppendUint32(b, footerCRC)
	b = le.AppendUint32(b, 0) // flags
	b = le.AppendUint32(b, checksum(b[start:]))
	return append(b, endMagic...)
}

// parseTrailer decodes the last bytes of a file of the given size and returns
// the checksum of the footer.
func parseTrailer(p []byte, size int64, headerCRC uint32) (footerCRC uint32, err error) {
	damage := func(format string, args ...any) (uint32, error) {
		return 0, &DamageError{Offset: size - trailerSize, Reason: "trailer: " + fmt.Sprintf(format, args...)}
	}
	if string(p[24:]) != endMagic {
		return damage("no end mark: truncated, or something behind the end")
	}
	if le.Uint32(p[20:]) != checksum(p[:20]) {
		return damage("checksum")
	}
	if flags := le.Uint32(p[16:]); flags != 0 {
		return 0, fmt.Errorf("erasure: trailer with flags %#x, which this program does not know: %w", flags, ErrUnsupported)
	}
	if written := le.Uint64(p); written != uint64(size) {
		return damage("the file has %d bytes, it was written with %d", size, written)
	}
	if le.Uint32(p[8:]) != headerCRC {
		return damage("belongs to another header")
	}
	return le.Uint32(p[12:]), nil
}
