package container

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"time"
	"unicode/utf8"
)

// magic starts a file: a byte with the high bit set, the name, and the line
// ends that a transfer in text mode would change.
const magic = "\x8bCRAFT\r\n\x1a\n\x00\x00"

const (
	formatMajor = 1 // a reader of another major version cannot read the file

	// The preamble is the part of the header that no later version changes.
	preambleSize = 28
	// headerPrefix is what is read at first: nearly always the whole header.
	headerPrefix = 4096

	maxName      = 1024
	maxAncestors = 1024
	maxRanks     = math.MaxInt32

	flagFlush = 1 // of the flags since 1.1
)

// MaxFingerprint is how long a fingerprint may be, in bytes.
const MaxFingerprint = 1 << 20

// LineageID names a chain of runs that restart from one another. Random.
type LineageID [16]byte

// AttemptID names one run (from its start or restart to its end). Random.
type AttemptID [8]byte

// NoIteration is the Iteration of a version that was written without one.
const NoIteration = math.MinInt64

// Header is the identity of one rank's file of one version.
type Header struct {
	Name      string // of the checkpoint
	Lineage   LineageID
	Attempt   AttemptID
	Version   uint64 // counts from 1
	Iteration int64  // or NoIteration
	Rank      int    // 0 <= Rank < Size
	Size      int    // ranks in the group that wrote the version
	Created   time.Time
	// Ancestors are the parent, its parent and so on, of a nested checkpoint.
	Ancestors []Ancestor
	// Fingerprint is canonical JSON of the program's problem, or empty.
	Fingerprint []byte
	// Level is how the version is to be protected on the nodes, for readers that do not
	// know FieldLevels (0: it is not there), Flush whether it is to be copied to the parallel file
	// system. Nothing is read differently because of them. Since format 1.1.
	Level uint8
	Flush bool
	// Oldest: no chunk of this file is in the file of an older version than this
	// one, of the same attempt; 0: all its chunks are in it. It is set by the
	// Encoder and may be older than need be: Reader.Refs has the versions that
	// chunks are really in. Since format 1.1.
	Oldest uint64
	// Fields are additions that a reader may do without.
	Fields Fields
}

// Ancestor says which version of an outer checkpoint was the last one captured
// when this version was.
type Ancestor struct {
	Name    string
	Attempt AttemptID
	Version uint64 // 0: none
	Calls   uint64 // UpdateAndWrite calls of the ancestor since, written or not
}

// problem says why a header cannot be stored; "" if it can.
func (h *Header) problem() string {
	switch {
	case h.Size < 1 || h.Size > maxRanks:
		return fmt.Sprintf("size %d (allowed: 1 to %d)", h.Size, maxRanks)
	case h.Rank < 0 || h.Rank >= h.Size:
		return fmt.Sprintf("rank %d of %d (allowed: 0 to %d)", h.Rank, h.Size, h.Size-1)
	case h.Version < 1:
		return "version 0 (versions count from 1)"
	case len(h.Ancestors) > maxAncestors:
		return fmt.Sprintf("%d ancestors (allowed: up to %d)", len(h.Ancestors), maxAncestors)
	case len(h.Fingerprint) > MaxFingerprint:
		return fmt.Sprintf("fingerprint of %d bytes (allowed: up to %d)", len(h.Fingerprint), MaxFingerprint)
	case h.Oldest >= h.Version:
		return fmt.Sprintf("version %d has chunks in version %d (allowed: in older ones)", h.Version, h.Oldest)
	}
	if p := nameProblem(h.Name); p != "" {
		return "name " + p
	}
	for _, a := range h.Ancestors {
		if p := nameProblem(a.Name); p != "" {
			return "name of an ancestor " + p
		}
	}
	return h.Fields.problem()
}

func nameProblem(s string) string {
	if len(s) > maxName {
		return fmt.Sprintf("has %d bytes (allowed: up to %d)", len(s), maxName)
	}
	if !utf8.ValidString(s) {
		return fmt.Sprintf("%q is not UTF-8", s)
	}
	return ""
}

// minor is the minor version of the format, which counts additions: the least one that
// can hold the header.
func (h *Header) minor() uint16 {
	switch {
	case len(h.Fields) > 0:
		return 2
	case h.Level != 0 || h.Flush || h.Oldest != 0:
		return 1
	}
	return 0
}

// appendHeader appends the encoded header to b.
func appendHeader(b []byte, h *Header) []byte {
	start := len(b)
	b = append(b, magic...)
	b = le.AppendUint16(b, formatMajor)
	b = le.AppendUint16(b, h.minor())
	b = le.AppendUint32(b, 0) // flags
	b = append(b, make([]byte, 8)...)

	body := len(b)
	b = append(b, h.Lineage[:]...)
	b = append(b, h.Attempt[:]...)
	b = le.AppendUint64(b, h.Version)
	b = le.AppendUint64(b, uint64(h.Iteration))
	b = le.AppendUint64(b, uint64(h.Created.Unix()))
	b = le.AppendUint32(b, uint32(h.Created.Nanosecond()))
	b = le.AppendUint32(b, uint32(h.Rank))
	b = le.AppendUint32(b, uint32(h.Size))
	b = le.AppendUint16(b, uint16(len(h.Name)))
	b = le.AppendUint16(b, uint16(len(h.Ancestors)))
	b = le.AppendUint32(b, uint32(len(h.Fingerprint)))
	b = append(b, h.Name...)
	for i := range h.Ancestors {
		a := &h.Ancestors[i]
		b = append(b, a.Attempt[:]...)
		b = le.AppendUint64(b, a.Version)
		b = le.AppendUint64(b, a.Calls)
		b = le.AppendUint16(b, uint16(len(a.Name)))
		b = append(b, a.Name...)
	}
	b = append(b, h.Fingerprint...)
	if h.minor() >= 1 {
		flags := byte(0)
		if h.Flush {
			flags |= flagFlush
		}
		b = append(b, h.Level, flags)
		b = le.AppendUint64(b, h.Oldest)
	}
	if h.minor() >= 2 {
		b = h.Fields.append(b)
	}

	le.PutUint32(b[body-8:], uint32(len(b)-body))
	le.PutUint32(b[body-4:], checksum(b[start:body-4]))
	return le.AppendUint32(b, checksum(b[body:]))
}

// headerChecksum is the checksum at the end of an encoded header, which tells
// headers apart. The checksum of bytes that end with their own checksum would
// be the same for all headers of a length.
func headerChecksum(encoded []byte) uint32 { return le.Uint32(encoded[len(encoded)-4:]) }

// parsePreamble checks the first preambleSize bytes of a file and returns the
// length of the whole header.
func parsePreamble(p []byte) (int64, error) {
	if string(p[:len(magic)]) != magic {
		return 0, &DamageError{Reason: fmt.Sprintf("no container file: starts with %q, not with %q", p[:len(magic)], magic)}
	}
	if le.Uint32(p[24:]) != checksum(p[:24]) {
		return 0, &DamageError{Reason: "checksum of the preamble"}
	}
	major, minor, flags := le.Uint16(p[12:]), le.Uint16(p[14:]), le.Uint32(p[16:])
	if major != formatMajor {
		return 0, unsupportedf("file has format version %d.%d, this program reads %d.x", major, minor, formatMajor)
	}
	if flags != 0 {
		return 0, unsupportedf("header of format version %d.%d has flags %#x, which this program does not know", major, minor, flags)
	}
	return preambleSize + int64(le.Uint32(p[20:])) + 4, nil
}

// parseHeader decodes a whole header, whose preamble has been checked.
func parseHeader(p []byte) (Header, error) {
	body := p[preambleSize : len(p)-4]
	if le.Uint32(p[len(p)-4:]) != checksum(body) {
		return Header{}, &DamageError{Offset: preambleSize, Reason: "checksum of the header"}
	}
	var h Header
	c := cursor{p: body}
	copy(h.Lineage[:], c.take(len(h.Lineage), "lineage"))
	copy(h.Attempt[:], c.take(len(h.Attempt), "attempt"))
	h.Version = c.u64("version")
	h.Iteration = int64(c.u64("iteration"))
	seconds, nanos := int64(c.u64("time")), c.u32("time")
	h.Created = time.Unix(seconds, int64(nanos)).UTC()
	h.Rank = int(c.u32("rank"))
	h.Size = int(c.u32("size"))
	name, ancestors, fingerprint := int(c.u16("name")), int(c.u16("ancestors")), int64(c.u32("fingerprint"))
	h.Name = string(c.take(name, "name"))
	if ancestors > 0 && ancestors <= maxAncestors && c.bad == "" {
		h.Ancestors = make([]Ancestor, ancestors)
	}
	for i := range h.Ancestors {
		a := &h.Ancestors[i]
		copy(a.Attempt[:], c.take(len(a.Attempt), "ancestor"))
		a.Version = c.u64("ancestor")
		a.Calls = c.u64("ancestor")
		a.Name = string(c.take(int(c.u16("ancestor")), "ancestor"))
	}
	if fingerprint > 0 && fingerprint <= MaxFingerprint {
		h.Fingerprint = append([]byte(nil), c.take(int(fingerprint), "fingerprint")...)
	}
	minor := le.Uint16(p[14:])
	if minor >= 1 {
		h.Level = c.u8("level")
		h.Flush = c.u8("flags")&flagFlush != 0
		h.Oldest = c.u64("oldest version")
	}
	if minor >= 2 {
		h.Fields = parseFields(&c)
	}
	problem := cmp.Or(c.bad, h.problem())
	switch {
	case problem != "":
	case ancestors > maxAncestors:
		problem = fmt.Sprintf("%d ancestors", ancestors)
	case fingerprint > MaxFingerprint:
		problem = fmt.Sprintf("fingerprint of %d bytes", fingerprint)
	case nanos >= 1e9:
		problem = fmt.Sprintf("%d nanoseconds", nanos)
	}
	if problem != "" {
		return Header{}, &DamageError{Offset: preambleSize, Reason: "header: " + problem}
	}
	return h, nil
}

// ReadHeader reads the header of a file of the given size in bytes, and nothing
// else. The errors are those of Open.
func ReadHeader(r io.ReaderAt, size int64) (Header, error) {
	f := file{r, size}
	h, _, err := f.readHeader()
	return h, err
}

// readHeader returns the header and its encoded bytes.
func (f file) readHeader() (Header, []byte, error) {
	if f.size < preambleSize {
		return Header{}, nil, &DamageError{Offset: f.size, Reason: fmt.Sprintf("truncated: %d bytes are no header", f.size)}
	}
	p := make([]byte, min(f.size, headerPrefix))
	if err := f.readFull(p, 0, ""); err != nil {
		return Header{}, nil, err
	}
	n, err := parsePreamble(p)
	if err != nil {
		return Header{}, nil, err
	}
	if n > f.size {
		return Header{}, nil, &DamageError{Offset: f.size, Reason: fmt.Sprintf("truncated: the header has %d bytes, the file %d", n, f.size)}
	}
	if n > int64(len(p)) {
		p = append(p, make([]byte, n-int64(len(p)))...)
		if err := f.readFull(p[headerPrefix:], headerPrefix, ""); err != nil {
			return Header{}, nil, err
		}
	}
	p = p[:n]
	h, err := parseHeader(p)
	return h, p, err
}
