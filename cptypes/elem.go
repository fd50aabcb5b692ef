package cptypes

import (
	"fmt"
	"math/bits"
	"reflect"
	"strings"

	"github.com/craft-go/craft/storage/container"
)

// Elem is the type of an element of a numeric array.
type Elem interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr |
		~float32 | ~float64 | ~complex64 | ~complex128
}

// wordBytes is the size of Go's int, uint and uintptr on this machine. They
// are stored in 8 bytes everywhere.
const wordBytes = bits.UintSize / 8

// layouts says how the kinds that are stored as elements lie in memory and in
// the file.
var layouts = map[reflect.Kind]layout{
	reflect.Bool:       {elem: container.Bool, mem: 1, stored: 1, word: 1},
	reflect.Int8:       {elem: container.Int8, mem: 1, stored: 1, word: 1},
	reflect.Int16:      {elem: container.Int16, mem: 2, stored: 2, word: 2},
	reflect.Int32:      {elem: container.Int32, mem: 4, stored: 4, word: 4},
	reflect.Int64:      {elem: container.Int64, mem: 8, stored: 8, word: 8},
	reflect.Int:        {elem: container.Int64, mem: wordBytes, stored: 8, word: wordBytes, signed: true},
	reflect.Uint8:      {elem: container.Uint8, mem: 1, stored: 1, word: 1},
	reflect.Uint16:     {elem: container.Uint16, mem: 2, stored: 2, word: 2},
	reflect.Uint32:     {elem: container.Uint32, mem: 4, stored: 4, word: 4},
	reflect.Uint64:     {elem: container.Uint64, mem: 8, stored: 8, word: 8},
	reflect.Uint:       {elem: container.Uint64, mem: wordBytes, stored: 8, word: wordBytes},
	reflect.Uintptr:    {elem: container.Uint64, mem: wordBytes, stored: 8, word: wordBytes},
	reflect.Float32:    {elem: container.Float32, mem: 4, stored: 4, word: 4},
	reflect.Float64:    {elem: container.Float64, mem: 8, stored: 8, word: 8},
	reflect.Complex64:  {elem: container.Complex64, mem: 8, stored: 8, word: 4},
	reflect.Complex128: {elem: container.Complex128, mem: 16, stored: 16, word: 8},
}

// layoutOf looks through arrays of arrays: it returns the layout of the
// innermost elements, the extents of the arrays, and the product of them.
func layoutOf(t reflect.Type) (l layout, shape []int64, per int, ok bool) {
	per = 1
	for t.Kind() == reflect.Array {
		shape = append(shape, int64(t.Len()))
		per *= t.Len()
		t = t.Elem()
	}
	l, ok = layouts[t.Kind()]
	return l, shape, per, ok
}

// DescOf returns v's description, or that of an opaque local value if v cannot
// describe itself.
func DescOf(v Value) Desc {
	if d, ok := v.(Describer); ok {
		return d.Describe()
	}
	return Desc{Elem: container.Opaque, Type: strings.TrimPrefix(fmt.Sprintf("%T", v), "*")}
}

// describe is a Desc for messages. Nothing was checked about it.
func describe(d Desc) string {
	if len(d.Box.Lo) != len(d.Box.Hi) {
		d.Box = Box{}
	}
	return d.String()
}
