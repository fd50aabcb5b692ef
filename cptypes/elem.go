package cptypes

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/craft-go/craft/cptypes/internal/element"
	"github.com/craft-go/craft/storage/container"
)

// Elem is the type of an element of a numeric array.
type Elem interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr |
		~float32 | ~float64 | ~complex64 | ~complex128
}

// layout says how one element lies in memory and in the file.
type layout = element.Layout

// layoutOf looks through arrays of arrays: it returns the layout of the
// innermost elements, the extents of the arrays, and the product of them.
func layoutOf(t reflect.Type) (l layout, shape []int64, per int, ok bool) {
	per = 1
	for t.Kind() == reflect.Array {
		shape = append(shape, int64(t.Len()))
		per *= t.Len()
		t = t.Elem()
	}
	l, ok = element.Of(t.Kind())
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
