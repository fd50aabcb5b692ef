package cptypes

import (
	"io"
	"math"
	"reflect"
	"slices"
	"unsafe"
)

// slice is a slice of numbers or bools, or of arrays of them. It may be
// replaced, grow and shrink between two calls.
type slice struct {
	layout
	v     reflect.Value // the slice variable, settable
	per   int           // elements of the layout per entry of the slice
	inner []int64       // shape of an entry
	desc  Desc          // of the last call; its Shape is replaced, never changed
	spans [][]byte      // of the last call; replaced, never changed
}

var (
	_ measured = (*slice)(nil)
	_ Spanner  = (*slice)(nil)
)

// newSlice takes a pointer to a slice whose entries have layout l.
func newSlice(ptr reflect.Value, l layout, inner []int64, per int) *slice {
	return &slice{layout: l, v: ptr.Elem(), per: per, inner: inner, desc: Desc{
		Elem: l.Elem,
		Type: ptr.Type().Elem().String(),
	}}
}

func (v *slice) elems() int             { return v.v.Len() * v.per }
func (v *slice) memory() unsafe.Pointer { return v.v.UnsafePointer() }

func (v *slice) Describe() Desc {
	n := int64(v.v.Len())
	if v.desc.Shape == nil || v.desc.Shape[0] != n {
		v.desc.Shape = append([]int64{n}, v.inner...)
	}
	return v.desc
}

func (v *slice) Size() int64                        { return int64(v.elems()) * int64(v.Stored) }
func (v *slice) WriteTo(w io.Writer) (int64, error) { return v.Write(w, v.memory(), v.elems()) }

// ReadFrom fills the slice as long as it is: see Resize.
func (v *slice) ReadFrom(r io.Reader) (int64, error) { return v.Read(r, v.memory(), v.elems()) }

// Resize gives the slice the stored length, in the same memory if it shrinks and
// in new memory if it grows: what is behind its length may belong to another
// slice. A length of 0 leaves a nil slice nil.
func (v *slice) Resize(stored Desc) error {
	have := v.Describe()
	if err := sameKind(stored, have); err != nil {
		return err
	}
	if !slices.Equal(stored.Shape[1:], v.inner) {
		return mismatch(stored, have, "the inner dimensions must be %v", stored.Shape[1:])
	}
	n, ok := volume(stored.Shape)
	if !ok || !fits(n, v.layout) || !fits(stored.Shape[0], v.layout) {
		return mismatch(stored, have, "so many elements do not fit into the address space")
	}
	v.setLen(int(stored.Shape[0]))
	return nil
}

func (v *slice) setLen(n int) {
	if n <= v.v.Len() {
		v.v.SetLen(n)
		return
	}
	v.v.Set(reflect.MakeSlice(v.v.Type(), n, n))
}

func (v *slice) Spans() ([][]byte, bool) {
	if !v.InPlace() {
		return nil, false
	}
	n := v.elems() * v.Mem
	if n == 0 {
		return nil, true
	}
	p := (*byte)(v.memory())
	if len(v.spans) == 0 || unsafe.SliceData(v.spans[0]) != p || len(v.spans[0]) != n {
		v.spans = [][]byte{unsafe.Slice(p, n)}
	}
	return v.spans, true
}

// volume is the number of elements of a shape; not ok if an extent is negative
// or the product is beyond int64.
func volume(shape []int64) (int64, bool) {
	if len(shape) > 0 {
		if least := slices.Min(shape); least <= 0 {
			return 0, least == 0
		}
	}
	n := int64(1)
	for _, x := range shape {
		if x > math.MaxInt64/n {
			return 0, false
		}
		n *= x
	}
	return n, true
}

// fits says that n elements can be addressed in memory and in a file.
func fits(n int64, l layout) bool {
	return n <= math.MaxInt64/int64(l.Stored) && n <= int64(math.MaxInt/l.Mem)
}
