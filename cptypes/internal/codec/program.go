package codec

import (
	"reflect"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// program says how a Go type is written, or how what is stored is read into it.
type program struct {
	typ       reflect.Type
	fixed     int64 // stored bytes, or variable
	recursive bool  // a value may contain others of the type
	code      []op

	defined bool // code is filled, or being filled
}

// opKind is what is done with a piece of memory.
type opKind uint8

const (
	opCopy    opKind = iota // bytes that lie in memory as they are stored
	opConvert               // numbers that do not, or must be checked
	opString
	opTime
	opCustom
	opPointer
	opSlice
	opArray // with elements of which each takes more than one op
	opMap
	opWiden // reading only: a number that was stored with fewer bits
	opSkip  // reading only: a number of bytes
	opSkipType
)

// op is a step of writing or reading.
type op struct {
	kind   opKind
	off    uintptr // in the memory of the program's type
	size   int     // opCopy, opSkip: bytes; opConvert, opArray: elements
	conv   element.Layout
	from   storedKind   // opWiden
	typ    reflect.Type // opCustom, opSlice, opMap: the type itself
	key    *program     // opMap
	sub    *program     // of what a pointer, a slice, an array, a map holds
	fast   fastMap      // opMap; nil: by reflection
	custom *Custom
	node   int    // opSkipType
	path   string // of the field, for messages
}

// appendOp joins pieces that follow each other in memory and in the file.
func appendOp(code []op, o op) []op {
	if n := len(code); n > 0 && o.kind == code[n-1].kind {
		last := &code[n-1]
		if o.kind == opSkip && last.size+o.size >= last.size || o.kind == opCopy && last.off+uintptr(last.size) == o.off {
			last.size += o.size
			return code
		}
	}
	if o.kind == opSkip && o.size == 0 {
		return code
	}
	return append(code, o)
}

// plain is the op that alone moves all memory of the type, and would also move that of
// many values that lie behind each other; nil if there is none.
func (p *program) plain() *op {
	if len(p.code) != 1 {
		return nil
	}
	o := &p.code[0]
	if o.off == 0 && (o.kind == opCopy && uintptr(o.size) == p.typ.Size() ||
		o.kind == opConvert && uintptr(o.size*o.conv.Mem) == p.typ.Size()) {
		return o
	}
	return nil
}

// repeat is what is done with n values that lie behind each other.
func (p *program) repeat(n int) []op {
	if len(p.code) == 0 || n == 0 {
		return nil
	}
	if o := p.plain(); o != nil {
		all := *o
		all.size *= n
		return []op{all}
	}
	return []op{{kind: opArray, size: n, sub: p}}
}

// asInMemory reports whether what is stored is a string, or the bytes of the variable.
func (p *program) asInMemory() bool {
	if len(p.code) == 0 {
		return p.fixed == 0
	}
	return p.plain() != nil || len(p.code) == 1 && p.code[0].kind == opString
}
