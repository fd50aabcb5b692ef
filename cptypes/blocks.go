package cptypes

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/craft-go/craft/storage/container"
)

// A struct of blocks is stored as
//
//	parts      uint64
//	elements   uint64 × parts, of each part
//	elements of all parts
//
// in little-endian order. Which types the parts have is in the name of its type.

// maxParts bounds the number of parts, and so the length of that name.
const maxParts = 4096

// declaredPart is a value whose number of elements was declared, and does not
// come from what is stored.
type declaredPart interface {
	measured
	fixedParts() // only types of this package
}

func (v *fixed) fixedParts()     {}
func (v *dense) fixedParts()     {}
func (v *picked[T]) fixedParts() {}

// blocks is a list of values that are stored as one.
type blocks struct {
	parts []declaredPart
	desc  Desc
}

var (
	_ measured = (*blocks)(nil)
	_ Updater  = (*blocks)(nil)
)

// Blocks is several choices of elements, of several slices and of different
// types, as one value: MPI_Type_create_struct. Each part is a pointer to a
// number, a bool or an array of them, or a Contiguous, Vector, Indexed, Matrix,
// MatrixLD, Columns or MatrixColumns, or again Blocks, whose parts are then taken
// in its place. There may be up to 4096 parts.
//
// It can be read into a value with the same types and numbers of elements in
// the same order. Anything else as a part is an error of Of.
func Blocks(parts ...any) Value {
	v := &blocks{}
	for i, given := range parts {
		value, err := Of(given)
		if err != nil {
			return &invalid{fmt.Errorf("part %d of Blocks: %w", i, err)}
		}
		p, declared := value.(declaredPart)
		if _, partitioned := value.(*part); partitioned {
			declared = false
		}
		switch inner, nested := value.(*blocks); {
		case nested:
			v.parts = append(v.parts, inner.parts...)
		case declared:
			v.parts = append(v.parts, p)
		default:
			return &invalid{fmt.Errorf("cptypes: %w: part %d of Blocks, %s: allowed are a pointer to a number, a bool or an array of them, Contiguous, Vector, Indexed, Matrix, MatrixLD, Columns, MatrixColumns and Blocks",
				ErrUnsupported, i, describe(DescOf(value)))}
		}
	}
	if len(v.parts) > maxParts {
		return badLayout("Blocks", "there are %d parts, allowed are up to %d: use Indexed for many blocks of one slice", len(v.parts), maxParts)
	}
	types := make([]string, len(v.parts))
	for i, p := range v.parts {
		types[i] = p.Describe().Elem.String()
	}
	v.desc = Desc{Elem: container.Opaque, Type: "blocks(" + strings.Join(types, ",") + ")"}
	return v
}

// blocksBuffer is where parts of few elements are collected.
const blocksBuffer = 64 << 10

func (v *blocks) elems(i int) int {
	n, _ := volume(v.parts[i].Describe().Shape)
	return int(n)
}

func (v *blocks) Update() error {
	for i, p := range v.parts {
		if err := update(p); err != nil {
			return fmt.Errorf("part %d of Blocks: %w", i, err)
		}
	}
	return nil
}

func (v *blocks) Describe() Desc { return v.desc }

func (v *blocks) Size() int64 {
	n := lengthsBytes(len(v.parts))
	for _, p := range v.parts {
		n += p.Size()
	}
	return n
}

func (v *blocks) WriteTo(w io.Writer) (int64, error) {
	if err := v.Update(); err != nil {
		return 0, err
	}
	out := &counted{w: w}
	buf := bufio.NewWriterSize(out, int(min(v.Size(), blocksBuffer)))
	err := writeLengths(buf, len(v.parts), v.elems)
	for _, p := range v.parts {
		if err == nil {
			_, err = p.WriteTo(buf)
		}
	}
	if e := buf.Flush(); err == nil {
		err = e
	}
	return out.n, err
}

// Resize makes the slices that are empty. The numbers of elements are checked by
// ReadFrom.
func (v *blocks) Resize(stored Desc) error {
	if err := sameKind(stored, v.desc); err != nil {
		return err
	}
	for i, p := range v.parts {
		if err := p.Resize(p.Describe()); err != nil {
			return mismatch(stored, v.desc, "part %d: %v", i, err)
		}
	}
	return nil
}

func (v *blocks) ReadFrom(r io.Reader) (int64, error) {
	src := &watched{r: r}
	n, err := readCount(src)
	if err == nil && n != uint64(len(v.parts)) {
		err = fmt.Errorf("cptypes: %w: %d parts of %s", ErrCorrupt, n, v.desc.Type)
	}
	if err != nil {
		return src.n, err
	}
	i := 0
	err = readRecords(src, n, 8, func(b []byte) error {
		have, stored := v.parts[i].Describe(), v.parts[i].Describe()
		if n := binary.LittleEndian.Uint64(b); n != uint64(v.elems(i)) {
			stored.Shape = []int64{int64(n)}
			return mismatch(stored, have, "part %d of Blocks must have %d elements, as are stored", i, n)
		}
		i++
		return nil
	})
	if err != nil {
		return src.n, err
	}
	for i, p := range v.parts {
		if _, err := p.ReadFrom(src); err != nil {
			return src.n, fmt.Errorf("part %d of Blocks: %w", i, err)
		}
	}
	return src.n, nil
}
