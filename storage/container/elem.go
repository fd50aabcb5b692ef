package container

import "fmt"

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
