package main

import (
	"io"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/examples/md/domain"
)

// column is what a checkpoint keeps of each atom, such as its position: this rank's part of an
// array with a row for each atom of all ranks. It is a cptypes.PartitionedMatrix whose part is
// another one in each version, because atoms come and go. So it is asked anew, each time,
// which rows are here.
type column[T cptypes.Elem] struct {
	rows  *[]T
	width int // of a row
	atoms *domain.Domain
}

// part is what can be done with an array that is divided among the ranks.
type part interface {
	cptypes.Value
	cptypes.Updater
	cptypes.Describer
	cptypes.Sizer
	cptypes.Spanner
	cptypes.Resizer
	cptypes.BoxReader
}

var (
	_ part = (*column[int64])(nil)
	_ part = (*column[float64])(nil)
)

// now is the array as it is divided now.
func (c *column[T]) now() part {
	return cptypes.PartitionedMatrix(c.rows, c.atoms.First, c.atoms.Last, c.atoms.Total, c.width).(part)
}

func (c *column[T]) Update() error                       { return c.now().Update() }
func (c *column[T]) Describe() cptypes.Desc              { return c.now().Describe() }
func (c *column[T]) Size() int64                         { return c.now().Size() }
func (c *column[T]) Spans() ([][]byte, bool)             { return c.now().Spans() }
func (c *column[T]) WriteTo(w io.Writer) (int64, error)  { return c.now().WriteTo(w) }
func (c *column[T]) Resize(stored cptypes.Desc) error    { return c.now().Resize(stored) }
func (c *column[T]) ReadFrom(r io.Reader) (int64, error) { return c.now().ReadFrom(r) }
func (c *column[T]) ReadBox(stored cptypes.Desc, src io.ReaderAt) error {
	return c.now().ReadBox(stored, src)
}
