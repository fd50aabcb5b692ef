package element

import (
	"math/bits"
	"reflect"

	"github.com/craft-go/craft/storage/container"
)

// wordBytes is the size of Go's int, uint and uintptr on this machine. They
// are stored in 8 bytes everywhere.
const wordBytes = bits.UintSize / 8

var layouts = map[reflect.Kind]Layout{
	reflect.Bool:       {Elem: container.Bool, Mem: 1, Stored: 1, word: 1},
	reflect.Int8:       {Elem: container.Int8, Mem: 1, Stored: 1, word: 1},
	reflect.Int16:      {Elem: container.Int16, Mem: 2, Stored: 2, word: 2},
	reflect.Int32:      {Elem: container.Int32, Mem: 4, Stored: 4, word: 4},
	reflect.Int64:      {Elem: container.Int64, Mem: 8, Stored: 8, word: 8},
	reflect.Int:        {Elem: container.Int64, Mem: wordBytes, Stored: 8, word: wordBytes, signed: true},
	reflect.Uint8:      {Elem: container.Uint8, Mem: 1, Stored: 1, word: 1},
	reflect.Uint16:     {Elem: container.Uint16, Mem: 2, Stored: 2, word: 2},
	reflect.Uint32:     {Elem: container.Uint32, Mem: 4, Stored: 4, word: 4},
	reflect.Uint64:     {Elem: container.Uint64, Mem: 8, Stored: 8, word: 8},
	reflect.Uint:       {Elem: container.Uint64, Mem: wordBytes, Stored: 8, word: wordBytes},
	reflect.Uintptr:    {Elem: container.Uint64, Mem: wordBytes, Stored: 8, word: wordBytes},
	reflect.Float32:    {Elem: container.Float32, Mem: 4, Stored: 4, word: 4},
	reflect.Float64:    {Elem: container.Float64, Mem: 8, Stored: 8, word: 8},
	reflect.Complex64:  {Elem: container.Complex64, Mem: 8, Stored: 8, word: 4},
	reflect.Complex128: {Elem: container.Complex128, Mem: 16, Stored: 16, word: 8},
}

// Of returns the layout of a kind of numbers or of bool, which are what is stored as
// elements.
func Of(k reflect.Kind) (l Layout, ok bool) {
	l, ok = layouts[k]
	return l, ok
}

// HasPointers reports whether memory of the type refers to other memory.
func HasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return HasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if HasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	_, number := layouts[t.Kind()]
	return !number
}
