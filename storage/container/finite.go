package container

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ErrNotFinite is returned by Encode when a section that has to be Finite has a
// number that is not.
var ErrNotFinite = errors.New("number is not finite")

// NotFiniteError says where the first number is that is not finite. It matches
// ErrNotFinite.
type NotFiniteError struct {
	Key   string
	Index int64  // of the element, in stored order
	Value string // as Go prints it: "NaN", "+Inf", "(1-Infi)"
}

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("container: section %q: element %d is %s, which is not finite", e.Key, e.Index, e.Value)
}

// Is makes a NotFiniteError match ErrNotFinite.
func (e *NotFiniteError) Is(target error) bool { return target == ErrNotFinite }

// Float reports whether the elements are floating-point numbers, or pairs of them.
func (e Elem) Float() bool { return e.floatSize() > 0 }

// floatSize is the number of bytes of the numbers that the elements consist of; 0:
// they are none that could be infinite.
func (e Elem) floatSize() int {
	switch e {
	case Float32, Complex64:
		return 4
	case Float64, Complex128:
		return 8
	}
	return 0
}

func (s *Section) finiteProblem() string {
	if s.Finite && !s.Desc.Elem.Float() {
		return fmt.Sprintf("is to be finite, which cannot be seen of %s (allowed: float32, float64, complex64, complex128)", s.Desc)
	}
	return ""
}

// inspected is the element type as which the bytes of a section are looked at; Opaque:
// they are not.
func (s *Section) inspected() Elem {
	if s.Finite {
		return s.Desc.Elem
	}
	return Opaque
}

// inspection is what has to be looked for in a chunk.
type inspection struct {
	of *Section // nil: nothing
	at int64    // offset of the chunk in the value
}

// inspectedSize is how many bytes are looked at, and then checksummed, as long as they
// are in the processor's cache.
const inspectedSize = 16 << 10

// checksum returns the checksum of m and, if that is asked for, the error of the first
// number in it that is not finite.
func (in inspection) checksum(m memory) (uint32, *NotFiniteError) {
	if in.of == nil {
		return m.checksum(), nil
	}
	crc, s := uint32(0), finiteScan{size: in.of.Desc.Elem.floatSize(), found: -1}
	for p := range m.pieces() {
		for len(p) > 0 {
			n := min(inspectedSize, len(p))
			s.add(p[:n])
			crc = extendChecksum(crc, p[:n])
			p = p[n:]
		}
	}
	if s.found < 0 {
		return crc, nil
	}
	return crc, in.fail(m, s.found)
}

// fail describes the element around an offset in the chunk.
func (in inspection) fail(m memory, off int) *NotFiniteError {
	elem := in.of.Desc.Elem
	off -= off % elem.Size() // elements do not cross chunks: the sizes of both are powers of two
	at := memoryCursor{m.spans, m.skip}
	at.next(off)
	raw := make([]byte, elem.Size()) // zero, where a Source has cut an element off
	at.next(min(len(raw), m.n-off)).gather(raw)
	return &NotFiniteError{Key: in.of.Key, Index: (in.at + int64(off)) / int64(elem.Size()), Value: formatFloat(elem, raw)}
}

func formatFloat(elem Elem, raw []byte) string {
	f32 := func(p []byte) float64 { return float64(math.Float32frombits(le.Uint32(p))) }
	f64 := func(p []byte) float64 { return math.Float64frombits(le.Uint64(p)) }
	switch elem {
	case Float32:
		return strconv.FormatFloat(f32(raw), 'g', -1, 32)
	case Complex64:
		return strconv.FormatComplex(complex(f32(raw), f32(raw[4:])), 'g', -1, 64)
	case Complex128:
		return strconv.FormatComplex(complex(f64(raw), f64(raw[8:])), 'g', -1, 128)
	}
	return strconv.FormatFloat(f64(raw), 'g', -1, 64)
}

// finiteScan looks for a number that is not finite in bytes that come in pieces, which
// may cut numbers.
type finiteScan struct {
	size  int     // of a number
	found int     // offset of the first; -1: none
	n     int     // bytes so far, those of cut included
	cut   [8]byte // the beginning of a number; n says how much of it
}

func (s *finiteScan) add(p []byte) {
	if s.found >= 0 {
		return
	}
	if have := s.n % s.size; have > 0 {
		n := copy(s.cut[have:s.size], p)
		s.n, p = s.n+n, p[n:]
		if s.n%s.size > 0 {
			return
		}
		if firstNotFinite(s.cut[:s.size], s.size) >= 0 {
			s.found = s.n - s.size
			return
		}
	}
	whole := len(p) - len(p)%s.size
	if i := firstNotFinite(p[:whole], s.size); i >= 0 {
		s.found = s.n + i
		return
	}
	copy(s.cut[:], p[whole:])
	s.n += len(p)
}

// What shows that a number is not finite: all bits of its exponent are set, so that one
// more in the exponent, without the sign, goes over into the bit of the sign. A word of
// 64 bits is one float64 or two float32, which do not disturb each other in that. So it is
// three operations for a word, and no branches.
const (
	unsigned32, exponent32 = 0x7fffffff_7fffffff, 0x00800000_00800000
	unsigned64, exponent64 = 0x7fffffff_ffffffff, 0x00100000_00000000
)

// firstNotFinite returns the offset of the first number in p, which consists of numbers of
// 4 or 8 bytes, that is not finite; -1 if all are.
func firstNotFinite(p []byte, size int) int {
	unsigned, exponent := uint64(unsigned64), uint64(exponent64)
	if size == 4 {
		unsigned, exponent = unsigned32, exponent32
	}
	at := len(p) &^ 63
	if hasOver(p[:at], unsigned, exponent) {
		at = 0
	}
	for ; at < len(p); at += size { // what is left, or all to say where it is
		x := uint64(0)
		if size == 4 {
			x = uint64(le.Uint32(p[at:]))
		} else {
			x = le.Uint64(p[at:])
		}
		if (x&unsigned+exponent)&^unsigned != 0 {
			return at
		}
	}
	return -1
}
