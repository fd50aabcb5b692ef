package cptypes

import (
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/craft-go/craft/storage/container"
)

// part is a box of a global array, in row-major order.
type part struct{ dense }

var (
	_ spanned   = (*part)(nil)
	_ BoxReader = (*part)(nil)
)

// Partitioned is this rank's part of a global array of n elements: *v holds
// the elements lo <= i < hi, *v[0] being element lo. It may be empty
// (lo == hi). The ranks' parts must cover 0 <= i < n exactly once; they may be
// others when the checkpoint is read, on any number of ranks.
//
// The slice may be nil until it is read. When it is written with another
// length than hi-lo, that is an error that matches ErrLength. Wrong numbers are
// an error of Of that matches ErrBox.
func Partitioned[T Elem](v *[]T, lo, hi, n int) Value {
	return newPart(v, Box{Lo: []int64{int64(lo)}, Hi: []int64{int64(hi)}}, []int64{int64(n)},
		fmt.Sprintf("Partitioned(%d, %d, %d)", lo, hi, n))
}

// PartitionedMatrix is this rank's block of rows of a global rows × cols
// matrix: *v holds the rows rowLo <= i < rowHi, one after the other. See
// Partitioned.
func PartitionedMatrix[T Elem](v *[]T, rowLo, rowHi, rows, cols int) Value {
	return newPart(v,
		Box{Lo: []int64{int64(rowLo), 0}, Hi: []int64{int64(rowHi), int64(cols)}},
		[]int64{int64(rows), int64(cols)},
		fmt.Sprintf("PartitionedMatrix(%d, %d, %d, %d)", rowLo, rowHi, rows, cols))
}

// PartitionedBox is this rank's box of a global array of any number of
// dimensions: *v holds its elements in row-major order (the last index runs
// fastest). See Partitioned.
func PartitionedBox[T Elem](v *[]T, box Box, global []int64) Value {
	return newPart(v, box, global, fmt.Sprintf("PartitionedBox(%s, %v)", boxString(box), global))
}

func newPart[T Elem](v *[]T, box Box, global []int64, what string) Value {
	if v == nil {
		return nilSlice[T](what)
	}
	if err := checkBox(box, global); err != nil {
		return &invalid{fmt.Errorf("cptypes: %w: %s: %w", ErrBox, what, err)}
	}
	l := elemLayout[T]()
	shape := box.Shape()
	if err := checkShape(shape, l, what); err != nil {
		return &invalid{err}
	}
	p := &part{*newDense(reflect.ValueOf(v), shape, what)}
	p.desc.Dist = container.Partitioned
	p.desc.Global = slices.Clone(global)
	p.desc.Box = Box{Lo: slices.Clone(box.Lo), Hi: slices.Clone(box.Hi)}
	return p
}

// Resize makes room for the value's own box, whichever box is stored; element
// type and global shape must be the stored ones.
func (v *part) Resize(stored Desc) error {
	if err := v.check(stored); err != nil {
		return err
	}
	v.slice.setLen(v.volume)
	return nil
}

func (v *part) check(stored Desc) error {
	if err := sameKind(stored, v.desc); err != nil {
		return err
	}
	if !slices.Equal(stored.Global, v.desc.Global) {
		return mismatch(stored, v.desc, "the global shape must be %v", stored.Global)
	}
	if err := checkBox(stored.Box, stored.Global); err != nil {
		return mismatch(stored, v.desc, "the stored box is invalid: %v", err)
	}
	if !slices.Equal(stored.Shape, stored.Box.Shape()) {
		return mismatch(stored, v.desc, "the stored box has another shape than the stored value, %v", stored.Shape)
	}
	return nil
}

// ReadBox reads the elements that the stored box has in common with the
// value's own. Resize comes first.
func (v *part) ReadBox(stored Desc, src io.ReaderAt) error {
	if err := v.check(stored); err != nil {
		return err
	}
	if err := v.Update(); err != nil {
		return err
	}
	overlap, ok := stored.Box.Intersect(v.desc.Box)
	if !ok {
		return nil
	}
	l := v.slice.layout
	runs := newRuns(overlap, stored.Box, v.desc.Box)
	if size, step := runs.length*int64(l.Stored), runs.step()*int64(l.Stored); size < smallRun && step < readAhead/4 {
		n, _ := volume(stored.Box.Shape())
		src = newAheadReader(src, n*int64(l.Stored))
	}
	for from, to := range runs.all {
		err := l.ReadAt(src, from*int64(l.Stored), l.At(v.memory(), int(to)), int(runs.length))
		if err != nil {
			return fmt.Errorf("cptypes: elements %s of the stored box %s: %w", boxString(overlap), boxString(stored.Box), err)
		}
	}
	return nil
}
