package cptypes

import (
	"fmt"
	"io"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/element"
	"github.com/craft-go/craft/storage/container"
)

// CSRIndex is the type of the row pointers and column indices of a CSR matrix.
type CSRIndex interface{ int32 | int64 | int }

// CSR is a Rows × Cols sparse matrix in compressed row storage: row i has its
// elements at RowPtr[i] <= k < RowPtr[i+1], element k being Val[k] in column
// ColIdx[k]. RowPtr has Rows+1 entries and starts with 0 (it may be nil if there
// are no rows); columns need not be sorted, and may repeat.
//
// A *CSR is a Value. The zero CSR takes whatever matrix is stored; another takes
// one with the same Rows and Cols, with any number of elements. What is
// written and what is read is checked: a matrix that Check refuses never gets
// into a checkpoint, nor out of one. Where reading fails half-way, the matrix is
// left without elements.
type CSR[T Elem, I CSRIndex] struct {
	Rows, Cols     int
	RowPtr, ColIdx []I
	Val            []T
}

// A CSR matrix is stored as
//
//	rows             uint64
//	columns          uint64
//	elements         uint64
//	row pointers     rows+1 × int32 or int64
//	column indices   elements × int32 or int64
//	values           elements
//
// in little-endian order. Which types these are is in the name of its type. It
// has no Spans: what is read must be checked, and reading into Spans gives no
// opportunity to. WriteTo hands the slices over whole.
const csrHeader = 3 * 8

var (
	_ measured = (*CSR[float64, int32])(nil)
	_ Updater  = (*CSR[float64, int32])(nil)
)

// Check says what is wrong with the matrix. The error matches ErrCSR.
func (m *CSR[T, I]) Check() error {
	if err := m.checkLengths(); err != nil {
		return err
	}
	if err := checkRowPtr(m.RowPtr, len(m.Val)); err != nil {
		return fmt.Errorf("cptypes: %w: %w", ErrCSR, err)
	}
	if err := checkColIdx(m.ColIdx, m.Cols); err != nil {
		return fmt.Errorf("cptypes: %w: %w", ErrCSR, err)
	}
	return nil
}

func (m *CSR[T, I]) checkLengths() error {
	switch {
	case m.Rows < 0 || m.Cols < 0:
		return fmt.Errorf("cptypes: %w: Rows = %d and Cols = %d must not be negative", ErrCSR, m.Rows, m.Cols)
	case len(m.ColIdx) != len(m.Val):
		return fmt.Errorf("cptypes: %w: ColIdx has %d elements and Val has %d, they must have the same number", ErrCSR, len(m.ColIdx), len(m.Val))
	case m.Rows == 0 && len(m.RowPtr) == 0 && len(m.Val) == 0:
		return nil
	case len(m.RowPtr)-1 != m.Rows:
		return fmt.Errorf("cptypes: %w: RowPtr has %d elements, %d rows need one more than rows", ErrCSR, len(m.RowPtr), m.Rows)
	case int64(I(len(m.Val))) != int64(len(m.Val)):
		return fmt.Errorf("cptypes: %w: %d elements are too many for row pointers of type %T", ErrCSR, len(m.Val), I(0))
	}
	return nil
}

func checkRowPtr[I CSRIndex](ptr []I, nnz int) error {
	var before I
	for i, p := range ptr {
		if p < before || i == 0 && p != 0 {
			return fmt.Errorf("row pointer %d is %d: they must start with 0 and never descend", i, p)
		}
		before = p
	}
	if int(before) != nnz {
		return fmt.Errorf("the last row pointer is %d, it must be the number of elements, %d", before, nnz)
	}
	return nil
}

func checkColIdx[I CSRIndex](cols []I, n int) error {
	for k, c := range cols {
		if uint64(c) >= uint64(n) { // negative ones are huge
			return fmt.Errorf("element %d is in column %d: want 0 <= column < %d", k, c, n)
		}
	}
	return nil
}

// Update checks the matrix, so that nothing is written that could not be read.
func (m *CSR[T, I]) Update() error { return m.Check() }

// Describe has the shape [Rows, Cols].
func (m *CSR[T, I]) Describe() Desc {
	return Desc{
		Elem:  container.Opaque,
		Shape: []int64{int64(m.Rows), int64(m.Cols)},
		Type:  fmt.Sprintf("csr(%s,%s)", elemLayout[T]().Elem, elemLayout[I]().Elem),
	}
}

// Size is the number of bytes that WriteTo writes.
func (m *CSR[T, I]) Size() int64 {
	index := int64(elemLayout[I]().Stored)
	return csrHeader + (int64(m.Rows)+1)*index + int64(len(m.Val))*(index+int64(elemLayout[T]().Stored))
}

// WriteTo stores the matrix as it is: Update has checked it.
func (m *CSR[T, I]) WriteTo(w io.Writer) (int64, error) {
	if err := m.checkLengths(); err != nil {
		return 0, err
	}
	ptr := m.RowPtr
	if len(ptr) == 0 {
		ptr = []I{0}
	}
	head := []uint64{uint64(m.Rows), uint64(m.Cols), uint64(len(m.Val))}
	out := &counted{w: w}
	err := writeSlice(out, head)
	if err == nil {
		err = writeSlice(out, ptr)
	}
	if err == nil {
		err = writeSlice(out, m.ColIdx)
	}
	if err == nil {
		err = writeSlice(out, m.Val)
	}
	return out.n, err
}

// Resize checks that the matrix, if it is not the zero one, has the stored
// shape.
func (m *CSR[T, I]) Resize(stored Desc) error {
	have := m.Describe()
	if err := sameKind(stored, have); err != nil {
		return err
	}
	if !m.takes(uint64(stored.Shape[0]), uint64(stored.Shape[1])) {
		return mismatch(stored, have, "the shape must be the stored one, or the matrix the zero one")
	}
	return nil
}

func (m *CSR[T, I]) takes(rows, cols uint64) bool {
	return m.Rows == 0 && m.Cols == 0 || uint64(m.Rows) == rows && uint64(m.Cols) == cols
}

// ReadFrom reads a matrix and checks it.
func (m *CSR[T, I]) ReadFrom(r io.Reader) (int64, error) {
	src := &watched{r: r}
	head, err := readSlice[uint64](src, nil, csrHeader/8)
	if err != nil {
		return src.n, err
	}
	rows, cols, nnz := head[0], head[1], head[2]
	have := m.Describe()
	const limit = 1 << 56
	switch {
	case rows >= limit || cols >= limit || nnz >= limit || int64(int(rows)) != int64(rows) || int64(int(cols)) != int64(cols) ||
		int64(I(nnz)) != int64(nnz) || int64(int(nnz)) != int64(nnz):
		return src.n, fmt.Errorf("cptypes: %w: a matrix of %d × %d with %d elements", ErrCorrupt, rows, cols, nnz)
	case !m.takes(rows, cols):
		stored := have
		stored.Shape = []int64{int64(rows), int64(cols)}
		return src.n, mismatch(stored, have, "the shape must be the stored one, or the matrix the zero one")
	}
	next := CSR[T, I]{Rows: int(rows), Cols: int(cols)}
	if err := next.read(src, int(nnz), m.RowPtr, m.ColIdx, m.Val); err != nil {
		m.clear() // its slices may have been overwritten
		return src.n, err
	}
	*m = next
	return src.n, nil
}

// clear leaves a matrix of the same shape without elements.
func (m *CSR[T, I]) clear() {
	*m = CSR[T, I]{Rows: m.Rows, Cols: m.Cols}
	if m.Rows > 0 {
		m.RowPtr = make([]I, m.Rows+1)
	}
}

// read reads what is behind the header, into the given memory where it is
// enough, and checks each slice before the next one is read.
func (m *CSR[T, I]) read(r io.Reader, nnz int, ptr, idx []I, val []T) (err error) {
	m.RowPtr, err = readSlice(r, ptr, m.Rows+1)
	if err == nil {
		err = corrupt(checkRowPtr(m.RowPtr, nnz))
	}
	if err == nil {
		m.ColIdx, err = readSlice(r, idx, nnz)
	}
	if err == nil {
		err = corrupt(checkColIdx(m.ColIdx, m.Cols))
	}
	if err == nil {
		m.Val, err = readSlice(r, val, nnz)
	}
	return err
}

func corrupt(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cptypes: %w: %w", ErrCorrupt, err)
}

func writeSlice[T Elem](w io.Writer, x []T) error {
	_, err := elemLayout[T]().Write(w, unsafe.Pointer(unsafe.SliceData(x)), len(x))
	return err
}

// readSlice reads n elements, into old if it is long enough.
func readSlice[T Elem](r io.Reader, old []T, n int) (x []T, err error) {
	l := elemLayout[T]()
	if n <= len(old) {
		_, err = l.Read(r, unsafe.Pointer(unsafe.SliceData(old)), n)
		return old[:n], err
	}
	for done, next := range element.Growing(n, l.Mem) {
		x = append(make([]T, 0, next), x...)[:next]
		if _, err := l.Read(r, l.At(unsafe.Pointer(unsafe.SliceData(x)), done), next-done); err != nil {
			return nil, err
		}
	}
	return x, nil
}
