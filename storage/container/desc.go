package container

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
