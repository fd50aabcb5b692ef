package cptypes

import (
	"io"
	"reflect"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/element"
	"github.com/craft-go/craft/storage/container"
)

// rows is a [][]T. Rows of equal length are one two-dimensional array of shape
// [rows, columns]. Ragged rows are opaque: the number of rows and the length
// of each as uint64, little-endian, then the elements of all rows. Rows that
// are all empty count as ragged, so that their number is backed by bytes.
type rows struct {
	layout
	v    reflect.Value // the variable, settable
	name string        // Go type
	// storedRagged is set by Resize when ragged rows are to be read; their
	// lengths are known to ReadFrom only.
	storedRagged bool
}

var (
	_ measured = (*rows)(nil)
	_ Spanner  = (*rows)(nil)
)

// newRows takes a pointer to a slice of slices with elements of layout l.
func newRows(ptr reflect.Value, l layout) Value {
	return &rows{layout: l, v: ptr.Elem(), name: ptr.Type().Elem().String()}
}

// columns is the common length of all rows; not ok if they are ragged.
func (v *rows) columns() (n int, ok bool) {
	if v.v.Len() == 0 {
		return 0, true
	}
	n = v.v.Index(0).Len()
	for i := 1; i < v.v.Len(); i++ {
		if v.v.Index(i).Len() != n {
			return 0, false
		}
	}
	return n, n > 0
}

// shape is [rows, columns]; not ok if the value is stored as ragged rows.
func (v *rows) shape() (shape []int64, ok bool) {
	c, uniform := v.columns()
	if v.storedRagged || !uniform {
		return nil, false
	}
	return []int64{int64(v.v.Len()), int64(c)}, true
}

func (v *rows) raggedType() string { return "[][]" + v.Elem.String() + " (ragged)" }

func (v *rows) Describe() Desc {
	if shape, ok := v.shape(); ok {
		return Desc{Elem: v.Elem, Shape: shape, Type: v.name}
	}
	return Desc{Elem: container.Opaque, Type: v.raggedType()}
}

func (v *rows) Size() int64 {
	var n int64
	for i := range v.v.Len() {
		n += int64(v.v.Index(i).Len())
	}
	n *= int64(v.Stored)
	if _, ok := v.shape(); !ok {
		n += lengthsBytes(v.v.Len())
	}
	return n
}

func (v *rows) WriteTo(w io.Writer) (int64, error) {
	out := &counted{w: w}
	if _, ok := v.shape(); !ok {
		if err := writeLengths(out, v.v.Len(), func(i int) int { return v.v.Index(i).Len() }); err != nil {
			return out.n, err
		}
	}
	for i := range v.v.Len() {
		row := v.v.Index(i)
		if _, err := v.Write(out, row.UnsafePointer(), row.Len()); err != nil {
			return out.n, err
		}
	}
	return out.n, nil
}

// Resize gives the value the stored shape, in the rows that exist if they are
// long enough. (They are never grown within their capacity: rows often lie in
// one another's.)
func (v *rows) Resize(stored Desc) error {
	v.storedRagged = false
	have := Desc{Elem: container.Opaque, Type: v.raggedType()}
	ragged := stored.Elem == have.Elem && stored.Type == have.Type
	if !ragged {
		c, _ := v.columns()
		have = Desc{Elem: v.Elem, Shape: []int64{int64(v.v.Len()), int64(c)}, Type: v.name}
	}
	if err := sameKind(stored, have); err != nil {
		return err
	}
	if ragged {
		v.storedRagged = true
		return nil
	}
	n, ok := volume(stored.Shape)
	r, c := stored.Shape[0], stored.Shape[1]
	switch {
	case !ok || !fits(n, v.layout):
		return mismatch(stored, have, "so many elements do not fit into the address space")
	case n == 0 && r > 0:
		return mismatch(stored, have, "rows without elements are stored as ragged rows")
	}
	if n == 0 {
		c = 0
	}
	v.resize(int(r), int(c))
	return nil
}

func (v *rows) resize(r, c int) {
	keep := r <= v.v.Len()
	for i := 0; keep && i < r; i++ {
		keep = v.v.Index(i).Len() >= c
	}
	if keep {
		v.v.SetLen(r)
		if have, ok := v.columns(); ok && have == c {
			return
		}
		cut := reflect.MakeSlice(v.v.Type(), r, r) // another variable may hold the same list of rows
		for i := range r {
			cut.Index(i).Set(v.v.Index(i).Slice(0, c))
		}
		v.v.Set(cut)
		return
	}
	flat := reflect.MakeSlice(v.v.Type().Elem(), r*c, r*c)
	v.v.Set(reflect.MakeSlice(v.v.Type(), r, r))
	for i := range r {
		// The capacity ends with the row: appending to it must not write into
		// the next one.
		v.v.Index(i).Set(flat.Slice3(i*c, (i+1)*c, (i+1)*c))
	}
}

// ReadFrom fills the rows as they are, or makes new ones if ragged rows are
// stored.
func (v *rows) ReadFrom(r io.Reader) (int64, error) {
	src := &watched{r: r}
	if _, ok := v.shape(); !ok {
		err := v.readRagged(src)
		return src.n, err
	}
	for i := range v.v.Len() {
		row := v.v.Index(i)
		if _, err := v.Read(src, row.UnsafePointer(), row.Len()); err != nil {
			return src.n, err
		}
	}
	return src.n, nil
}

func (v *rows) readRagged(r io.Reader) error {
	lengths, err := readLengths(r, v.layout)
	if err != nil {
		return err
	}
	all := reflect.MakeSlice(v.v.Type(), len(lengths), len(lengths))
	for i, length := range lengths {
		row := all.Index(i)
		for done, next := range element.Growing(length, v.Mem) {
			longer := reflect.MakeSlice(row.Type(), next, next)
			reflect.Copy(longer, row)
			row.Set(longer)
			if _, err := v.Read(r, v.At(row.UnsafePointer(), done), next-done); err != nil {
				return err
			}
		}
	}
	v.v.Set(all)
	v.storedRagged = false
	return nil
}

// Spans are the rows, unless they are ragged.
func (v *rows) Spans() ([][]byte, bool) {
	if _, ok := v.shape(); !ok || !v.InPlace() {
		return nil, false
	}
	spans := make([][]byte, 0, v.v.Len())
	for i := range v.v.Len() {
		row := v.v.Index(i)
		spans = append(spans, unsafe.Slice((*byte)(row.UnsafePointer()), row.Len()*v.Mem))
	}
	return spans, true
}
