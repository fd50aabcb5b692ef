package cptypes

import (
	"fmt"
	"io"
	"reflect"

	"github.com/craft-go/craft/storage/container"
)

// picker finds the elements of a variable that are stored.
type picker[T Elem] interface {
	describe() Desc
	// find looks at the variable as it is now; the error says why it cannot be
	// stored, or read into.
	find() (places[T], error)
	// room prepares the variable for what is stored, or returns a
	// *MismatchError.
	room(stored Desc) error
	variable() reflect.Value // a slice, or a list of slices
}

// picked is a chosen part of a variable. The rest is neither stored nor
// touched.
type picked[T Elem] struct {
	layout
	picker[T]
}

var _ spanned = (*picked[int])(nil)

func newPicked[T Elem](p picker[T]) *picked[T] { return &picked[T]{elemLayout[T](), p} }

// Update refuses a variable without the elements that are to be stored.
func (v *picked[T]) Update() error {
	_, err := v.find()
	return err
}

func (v *picked[T]) Describe() Desc { return v.describe() }

func (v *picked[T]) Size() int64 {
	n, _ := volume(v.describe().Shape)
	return n * int64(v.Stored)
}

func (v *picked[T]) WriteTo(w io.Writer) (int64, error) {
	p, err := v.find()
	if err != nil {
		return 0, err
	}
	return pack(w, v.layout, p)
}

func (v *picked[T]) ReadFrom(r io.Reader) (int64, error) {
	p, err := v.find()
	if err != nil {
		return 0, err
	}
	return unpack(r, v.layout, p)
}

// Spans gives the memory if it consists of long runs; small ones are packed
// faster than they are handled one by one.
func (v *picked[T]) Spans() ([][]byte, bool) {
	p, err := v.find()
	if err != nil {
		return nil, false
	}
	return spansOf(v.layout, p)
}

func (v *picked[T]) Resize(stored Desc) error { return v.room(stored) }

// sliceVar is a slice variable of which at least extent elements are needed.
type sliceVar[T Elem] struct {
	data   *[]T
	extent int
	alloc  int    // length of a new slice
	what   string // how the user declared it, for messages
}

// get is the slice, if it is long enough.
func (s sliceVar[T]) get() ([]T, error) {
	if n := len(*s.data); n < s.extent {
		return nil, fmt.Errorf("cptypes: %w: %s needs a slice of at least %d elements, it has %d", ErrLength, s.what, s.extent, n)
	}
	return *s.data, nil
}

// room makes a slice where there is none. One that is too short is left alone:
// what is to be read is only part of what belongs into it.
func (s sliceVar[T]) room(stored, have Desc) error {
	switch n := len(*s.data); {
	case n >= s.extent:
		return nil
	case n > 0:
		return mismatch(stored, have, "%s needs a slice of at least %d elements (or an empty one, that is then made), it has %d", s.what, s.extent, n)
	}
	*s.data = make([]T, s.alloc)
	return nil
}

// sliceType is the name of the type of a slice of T.
func sliceType[T Elem]() string { return fmt.Sprintf("%T", []T(nil)) }

// picks is a fixed choice of elements of a slice.
type picks[T Elem] struct {
	sliceVar[T]
	desc Desc
	in   func(data []T) places[T]
}

func (p *picks[T]) describe() Desc { return p.desc }

func (p *picks[T]) find() (places[T], error) {
	data, err := p.get()
	if err != nil {
		return nil, err
	}
	return p.in(data), nil
}

func (p *picks[T]) room(stored Desc) error {
	if err := asDeclared(stored, p.desc, p.what); err != nil {
		return err
	}
	return p.sliceVar.room(stored, p.desc)
}

// newPicks is for constructors, which have checked that the numbers make sense.
func newPicks[T Elem](s sliceVar[T], shape []int64, in func(data []T) places[T]) Value {
	desc := Desc{Elem: elemLayout[T]().Elem, Dist: container.Local, Shape: shape, Type: sliceType[T]()}
	return newPicked[T](&picks[T]{s, desc, in})
}
