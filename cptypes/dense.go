package cptypes

import (
	"fmt"
	"io"
	"reflect"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// dense is a slice that holds an array of given shape in row-major order (the
// last index runs fastest). Its length must be the shape's volume when it is
// written; Resize makes it so before it is read.
type dense struct {
	slice  *slice
	volume int
	desc   Desc
	what   string // how the user declared it, for messages
}

var _ spanned = (*dense)(nil)

// newDense takes a non-nil *[]T with T an Elem and a shape with a volume.
func newDense(data reflect.Value, shape []int64, what string) *dense {
	l, _ := element.Of(data.Type().Elem().Elem().Kind())
	n, _ := volume(shape)
	return &dense{
		slice:  newSlice(data, l, nil, 1),
		volume: int(n),
		desc:   Desc{Elem: l.Elem, Shape: shape, Type: data.Type().Elem().String()},
		what:   what,
	}
}

// Update refuses a slice whose length is not the declared one.
func (v *dense) Update() error {
	if n := v.slice.elems(); n != v.volume {
		return fmt.Errorf("cptypes: %w: %s needs a slice of %d elements, it has %d", ErrLength, v.what, v.volume, n)
	}
	return nil
}

func (v *dense) Describe() Desc { return v.desc }
func (v *dense) Size() int64    { return int64(v.volume) * int64(v.slice.Stored) }

func (v *dense) WriteTo(w io.Writer) (int64, error) {
	if err := v.Update(); err != nil {
		return 0, err
	}
	return v.slice.WriteTo(w)
}

func (v *dense) ReadFrom(r io.Reader) (int64, error) {
	if err := v.Update(); err != nil {
		return 0, err
	}
	return v.slice.ReadFrom(r)
}

func (v *dense) Spans() ([][]byte, bool) {
	if v.Update() != nil {
		return nil, false
	}
	return v.slice.Spans()
}

// Resize makes room for the declared shape, which must be the stored one.
func (v *dense) Resize(stored Desc) error {
	if err := asDeclared(stored, v.desc, v.what); err != nil {
		return err
	}
	v.slice.setLen(v.volume)
	return nil
}

func (v *dense) memory() unsafe.Pointer { return v.slice.memory() }

// Matrix is a rows × cols matrix whose elements lie row by row in a slice of
// rows*cols elements. The slice may be nil until it is read; when it is written
// with another length, that is an error that matches ErrLength. A stored [][]T
// or [R][C]T of the same shape can be read into it, and the reverse.
func Matrix[T Elem](data *[]T, rows, cols int) Value {
	what := fmt.Sprintf("Matrix(%d, %d)", rows, cols)
	shape := []int64{int64(rows), int64(cols)}
	if data == nil {
		return nilSlice[T](what)
	}
	if err := checkShape(shape, elemLayout[T](), what); err != nil {
		return &invalid{err}
	}
	return newDense(reflect.ValueOf(data), shape, what)
}

func checkShape(shape []int64, l layout, what string) error {
	n, ok := volume(shape)
	if !ok || !fits(n, l) {
		return fmt.Errorf("cptypes: %w: %s: the extents %v are negative, or too large to address %s elements",
			ErrBox, what, shape, l.Elem)
	}
	return nil
}
