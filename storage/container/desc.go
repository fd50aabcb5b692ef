package container

import (
	"fmt"
	"math"
)

// Elem is the type of the elements of a section. The numbers are part of the
// file format.
type Elem uint8

// The element types. Numbers are stored in little-endian byte order; complex
// ones as real part, imaginary part; a bool as one byte, 0 or 1.
const (
	Opaque     Elem = 0 // bytes that only the value's own code understands
	Bool       Elem = 1
	Int8       Elem = 2
	Int16      Elem = 3
	Int32      Elem = 4
	Int64      Elem = 5 // also Go's int
	Uint8      Elem = 6
	Uint16     Elem = 7
	Uint32     Elem = 8
	Uint64     Elem = 9 // also Go's uint and uintptr
	Float32    Elem = 10
	Float64    Elem = 11
	Complex64  Elem = 12
	Complex128 Elem = 13
	String     Elem = 14 // the bytes of one string (shape: its length)
)

// Dist says how a value is spread over the ranks.
type Dist uint8

const (
	Local       Dist = 0 // each rank has a value of its own
	Replicated  Dist = 1 // every rank holds the same value
	Partitioned Dist = 2 // each rank holds a box of a global array
)

// Box is a half-open box of a global index space: Lo[d] <= i[d] < Hi[d] in
// every dimension d.
type Box struct {
	Lo, Hi []int64
}

// Desc describes what the bytes of a section mean.
type Desc struct {
	Elem  Elem
	Shape []int64 // extent in each dimension, slowest first; empty for a scalar
	Dist  Dist
	// Global is the shape of the whole array and Box the part held here, for
	// Dist == Partitioned; nil otherwise. Box has the shape Shape.
	Global []int64
	Box    Box
	// Type names the Go type (or the codec) for messages and to recognise an
	// opaque value of another type: "[]float64", "main.Grid".
	Type string
}

// maxDims bounds the number of dimensions of a shape.
const maxDims = 32

// Elems is the number of elements, the product of the shape (1 for a scalar);
// ok is false if it does not fit an int64.
func (d Desc) Elems() (n int64, ok bool) { return product(d.Shape) }

// String is such as "float64[500x3] partitioned [0:500,0:3] of 1000x3". The
// usual distribution, local, is left out.
func (d Desc) String() string {
	s := d.Elem.String()
	if d.Elem == Opaque && d.Type != "" {
		s += " " + d.Type
	}
	if len(d.Shape) > 0 {
		s += "[" + formatShape(d.Shape) + "]"
	}
	if d.Dist != Local {
		s += " " + d.Dist.String()
	}
	if d.Dist == Partitioned {
		s += " " + d.Box.String() + " of " + formatShape(d.Global)
	}
	return s
}

// problem says what is wrong with a description in itself; "" if nothing is.
func (d *Desc) problem() string {
	switch {
	case !d.Elem.known():
		return fmt.Sprintf("unknown element type %d (known: 0 to %d)", d.Elem, len(elemTable)-1)
	case d.Dist > Partitioned:
		return fmt.Sprintf("unknown distribution %d (known: 0 to %d)", d.Dist, Partitioned)
	case len(d.Shape) > maxDims:
		return fmt.Sprintf("%d dimensions (allowed: up to %d)", len(d.Shape), maxDims)
	case len(d.Type) > math.MaxUint16:
		return fmt.Sprintf("type name of %d bytes (allowed: up to %d)", len(d.Type), math.MaxUint16)
	}
	for _, x := range d.Shape {
		if x < 0 {
			return fmt.Sprintf("shape %s has a negative extent", formatShape(d.Shape))
		}
	}
	if d.Dist == Partitioned {
		return d.boxProblem()
	}
	if d.Global != nil || d.Box.Lo != nil || d.Box.Hi != nil {
		return "has a box of a global array, but is " + d.Dist.String()
	}
	return ""
}

func (d *Desc) boxProblem() string {
	n := len(d.Shape)
	if d.Elem == Opaque {
		return "opaque values cannot be partitioned"
	}
	if n == 0 || len(d.Global) != n || len(d.Box.Lo) != n || len(d.Box.Hi) != n {
		return fmt.Sprintf("a partitioned value needs shape, global shape and box with the same number of dimensions, at least 1 (they have %d, %d and %d:%d)",
			n, len(d.Global), len(d.Box.Lo), len(d.Box.Hi))
	}
	for k, x := range d.Shape {
		lo, hi := d.Box.Lo[k], d.Box.Hi[k]
		if lo < 0 || lo > hi || hi > d.Global[k] {
			return fmt.Sprintf("box %s is not within the global shape %s", d.Box, formatShape(d.Global))
		}
		if hi-lo != x {
			return fmt.Sprintf("box %s does not have the shape %s", d.Box, formatShape(d.Shape))
		}
	}
	return ""
}

// sizeProblem says why a value of this description cannot have that many raw
// bytes; "" if it can.
func (d *Desc) sizeProblem(bytes int64) string {
	if d.Elem == Opaque {
		return ""
	}
	n, ok := d.Elems()
	size := int64(d.Elem.Size())
	if !ok || n > math.MaxInt64/size {
		return fmt.Sprintf("shape %s is too large", formatShape(d.Shape))
	}
	if n*size != bytes {
		return fmt.Sprintf("%s takes %d bytes, but the value has %d", d, n*size, bytes)
	}
	return ""
}

var elemTable = [...]struct {
	name string
	size int
}{
	Opaque:     {"opaque", 0},
	Bool:       {"bool", 1},
	Int8:       {"int8", 1},
	Int16:      {"int16", 2},
	Int32:      {"int32", 4},
	Int64:      {"int64", 8},
	Uint8:      {"uint8", 1},
	Uint16:     {"uint16", 2},
	Uint32:     {"uint32", 4},
	Uint64:     {"uint64", 8},
	Float32:    {"float32", 4},
	Float64:    {"float64", 8},
	Complex64:  {"complex64", 8},
	Complex128: {"complex128", 16},
	String:     {"string", 1},
}

// Size is the number of bytes of one element; 0 for Opaque, 1 for String.
func (e Elem) Size() int {
	if e.known() {
		return elemTable[e].size
	}
	return 0
}

// String is the Go name of the element type, such as "float64".
func (e Elem) String() string {
	if e.known() {
		return elemTable[e].name
	}
	return fmt.Sprintf("Elem(%d)", uint8(e))
}

func (e Elem) known() bool { return int(e) < len(elemTable) }

var distNames = [...]string{Local: "local", Replicated: "replicated", Partitioned: "partitioned"}

// String is "local", "replicated" or "partitioned".
func (d Dist) String() string {
	if int(d) < len(distNames) {
		return distNames[d]
	}
	return fmt.Sprintf("Dist(%d)", uint8(d))
}
