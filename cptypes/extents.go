package cptypes

import (
	"slices"

	"github.com/craft-go/craft/storage/container"
)

// Extent is how large a value is, or a slice in a struct.
type Extent struct {
	Path  string  `json:"p,omitempty"` // of the slice, such as ".Field.Sub"; "": the value itself
	Shape []int64 `json:"n"`           // elements in each dimension, none of them 0
}

// ExtentsOf returns how large v is now, as far as Resize may make it as large as
// what is stored: the shape of an array (the global one of a partitioned array), and
// the lengths of the slices in a struct and in structs in it, without those in
// elements of slices and maps. Strings and maps have none, nor has what takes its own
// shape only, such as an array; what is empty is left out.
func ExtentsOf(v Value) []Extent {
	switch v := v.(type) {
	case interface{ extents() []Extent }:
		return v.extents()
	case declaredPart:
		return nil
	}
	d := DescOf(v)
	switch {
	case d.Elem == container.String:
		return nil
	case d.Dist == container.Partitioned:
		return appendExtent(nil, "", d.Global)
	}
	return appendExtent(nil, "", d.Shape)
}

func appendExtent(out []Extent, path string, shape []int64) []Extent {
	if len(shape) == 0 || slices.Contains(shape, 0) {
		return out
	}
	return append(out, Extent{path, shape})
}

func appendLen(out []Extent, path string, n int) []Extent {
	return appendExtent(out, path, []int64{int64(n)})
}

func (v replicated) extents() []Extent { return ExtentsOf(v.Value) }

func (v *texts) extents() []Extent { return appendLen(nil, "", len(v.get())) }

func (v *moments) extents() []Extent { return appendLen(nil, "", len(*v.t)) }

func (v *rows) extents() []Extent {
	if shape, ok := v.shape(); ok {
		return appendExtent(nil, "", shape)
	}
	return appendLen(nil, "", v.v.Len()) // ragged
}

// A matrix that is not empty takes its own shape only.
func (v *gonumValue[M, T]) extents() []Extent { return nil }
func (m *CSR[T, I]) extents() []Extent        { return nil }

func (v *structured) extents() (out []Extent) {
	v.codec.Lengths(v.p, func(path string, n int) { out = appendLen(out, path, n) })
	return out
}
