package cptypes

import (
	"io"
	"reflect"
	"slices"
	"unsafe"

	"github.com/craft-go/craft/storage/container"
)

// fixed is a scalar or an array: memory that never moves, so that all
// descriptions of it are made once.
type fixed struct {
	layout
	p     unsafe.Pointer // keeps the variable alive
	n     int            // elements
	desc  Desc
	spans [][]byte
}

var (
	_ measured = (*fixed)(nil)
	_ Spanner  = (*fixed)(nil)
)

// newFixed takes a pointer to a scalar or an array with elements of layout l.
func newFixed(ptr reflect.Value, l layout, shape []int64, n int) Value {
	v := &fixed{layout: l, p: ptr.UnsafePointer(), n: n, desc: Desc{
		Elem:  l.Elem,
		Shape: shape,
		Type:  ptr.Type().Elem().String(),
	}}
	if n > 0 {
		v.spans = [][]byte{l.Bytes(v.p, n)}
	}
	return v
}

func (v *fixed) Describe() Desc                      { return v.desc }
func (v *fixed) Size() int64                         { return int64(v.n) * int64(v.Stored) }
func (v *fixed) WriteTo(w io.Writer) (int64, error)  { return v.Write(w, v.p, v.n) }
func (v *fixed) ReadFrom(r io.Reader) (int64, error) { return v.Read(r, v.p, v.n) }

func (v *fixed) Resize(stored Desc) error {
	return sameShape(stored, v.desc, "the shape of a fixed array must be the stored one; a slice takes any length")
}

func (v *fixed) Spans() ([][]byte, bool) {
	if !v.InPlace() {
		return nil, false
	}
	return v.spans, true
}

// sameShape is sameKind that checks the extents, too, of which the error says more.
func sameShape(stored, have Desc, format string, args ...any) error {
	if err := sameKind(stored, have); err != nil {
		return err
	}
	if !slices.Equal(stored.Shape, have.Shape) {
		return mismatch(stored, have, format, args...)
	}
	return nil
}

// asDeclared is sameShape for a shape that the user declared by what.
func asDeclared(stored, have Desc, what string) error {
	return sameShape(stored, have, "the shape must be %v, as declared by %s", stored.Shape, what)
}

// sameKind checks everything but the extents: element type, distribution, and
// number of dimensions.
func sameKind(stored, have Desc) error {
	switch {
	case stored.Elem != have.Elem:
		return mismatch(stored, have, "the element type must be %s", stored.Elem)
	case stored.Elem == container.Opaque && stored.Type != have.Type:
		return mismatch(stored, have, "the type must be %s", stored.Type)
	case stored.Dist != have.Dist:
		return mismatch(stored, have, "the value must be declared %s, as it was when it was stored", stored.Dist)
	case len(stored.Shape) != len(have.Shape):
		return mismatch(stored, have, "the number of dimensions must be %d", len(stored.Shape))
	}
	return nil
}
