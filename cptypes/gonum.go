package cptypes

import (
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// gonumType is what is known about a type of gonum's mat package.
type gonumType[M any, T Elem] struct {
	// describe gives type name and shape as they are stored.
	describe func(m *M) (name string, shape []int64)
	// places are the elements that are stored. m is not empty.
	places func(m *M) places[T]
	// empty says that m may be given a shape; size gives it the stored one, or
	// says what is wrong with that.
	empty func(m *M) bool
	size  func(m *M, stored Desc) (reason string)
	// named: what is stored cannot be told from other arrays of numbers but by
	// the name of its type.
	named bool
}

// gonumValue is a matrix or vector of gonum. Those that are views into larger
// ones are stored without what lies between their rows, and that is not touched
// when they are read.
type gonumValue[M any, T Elem] struct {
	layout
	gonumType[M, T]
	m *M  // nil if the variable is a pointer
	p **M // the variable, if it is a pointer
}

var _ spanned = (*gonumValue[mat.Dense, float64])(nil)

// newGonum takes a *M or a **M.
func newGonum[M any, T Elem](v any, t gonumType[M, T]) Value {
	m, _ := v.(*M)
	p, _ := v.(**M)
	return &gonumValue[M, T]{layout: elemLayout[T](), gonumType: t, m: m, p: p}
}

// get is the matrix; an empty one for a nil pointer.
func (v *gonumValue[M, T]) get() *M {
	switch {
	case v.p == nil:
		return v.m
	case *v.p == nil:
		return new(M)
	}
	return *v.p
}

// Update refuses a nil pointer: nothing says which matrix it stands for.
func (v *gonumValue[M, T]) Update() error {
	if v.p != nil && *v.p == nil {
		return fmt.Errorf("cptypes: %w: the variable of type *%T holds no matrix when it is written", ErrNil, *new(M))
	}
	return nil
}

func (v *gonumValue[M, T]) Describe() Desc {
	name, shape := v.describe(v.get())
	return Desc{Elem: v.Elem, Shape: shape, Type: name}
}

func (v *gonumValue[M, T]) Size() int64 {
	n, _ := volume(v.Describe().Shape)
	return n * int64(v.Stored)
}

// find returns nil for an empty matrix.
func (v *gonumValue[M, T]) find() places[T] {
	m := v.get()
	if v.empty(m) {
		return nil
	}
	return v.places(m)
}

func (v *gonumValue[M, T]) WriteTo(w io.Writer) (int64, error) {
	if err := v.Update(); err != nil {
		return 0, err
	}
	if p := v.find(); p != nil {
		return pack(w, v.layout, p)
	}
	return 0, nil
}

func (v *gonumValue[M, T]) ReadFrom(r io.Reader) (int64, error) {
	if p := v.find(); p != nil {
		return unpack(r, v.layout, p)
	}
	return 0, nil
}

func (v *gonumValue[M, T]) Spans() ([][]byte, bool) {
	if v.Update() != nil || !v.Raw() {
		return nil, false
	}
	if p := v.find(); p != nil {
		return spansOf(v.layout, p)
	}
	return nil, true
}

// Resize gives an empty matrix the stored shape, and makes one for a nil
// pointer. Another must have the stored shape.
func (v *gonumValue[M, T]) Resize(stored Desc) error {
	have := v.Describe()
	if err := sameKind(stored, have); err != nil {
		return err
	}
	n, ok := volume(stored.Shape)
	if !ok || !fits(n, v.layout) {
		return mismatch(stored, have, "so many elements do not fit into the address space")
	}
	m := v.get()
	if v.empty(m) {
		if n == 0 && stored.Shape[0] == 0 && stored.Shape[len(stored.Shape)-1] == 0 {
			v.set(m)
			return nil
		}
		made := new(M)
		if reason := v.size(made, stored); reason != "" {
			return mismatch(stored, have, "%s", reason)
		}
		*m = *made
		v.set(m)
		return nil
	}
	if v.named && stored.Type != have.Type {
		return mismatch(stored, have, "the type and shape must be %s, the program has %s; an empty one takes any shape", stored.Type, have.Type)
	}
	if !slices.Equal(stored.Shape, have.Shape) {
		return mismatch(stored, have, "the shape must be the stored one, or the matrix empty (the zero value)")
	}
	return nil
}

func (v *gonumValue[M, T]) set(m *M) {
	if v.p != nil {
		*v.p = m
	}
}

// gonumOf is the Value for a matrix of gonum, or for a variable that points to
// one; nil for anything else.
func gonumOf(v any) Value {
	switch v.(type) {
	case *mat.VecDense, **mat.VecDense:
		return newGonum(v, vecDense)
	case *mat.Dense, **mat.Dense:
		return newGonum(v, matDense)
	case *mat.CDense, **mat.CDense:
		return newGonum(v, matCDense)
	case *mat.SymDense, **mat.SymDense:
		return newGonum(v, symDense)
	case *mat.TriDense, **mat.TriDense:
		return newGonum(v, triDense)
	case *mat.DiagDense, **mat.DiagDense:
		return newGonum(v, diagDense)
	case *mat.BandDense, **mat.BandDense:
		return newGonum(v, bandDense)
	}
	return nil
}
