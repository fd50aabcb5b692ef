package element

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"unsafe"

	"github.com/craft-go/craft/storage/container"
)

// convertBytes is how much is converted at a time, where the memory cannot be
// stored as it is.
const convertBytes = 64 << 10

// SameOrder reports whether numbers lie in memory in the file's byte order. A
// variable, so that tests can exercise the conversion on any machine.
var SameOrder = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Layout says how one element lies in memory and in the file. Its methods
// move n elements that lie at p without gaps.
type Layout struct {
	Elem   container.Elem
	Mem    int  // bytes of an element in memory
	Stored int  // bytes of an element in the file
	word   int  // bytes of memory that have one byte order: half a complex number
	signed bool // how to extend when Stored > Mem
}

// Raw reports whether memory and file hold the same bytes.
func (l Layout) Raw() bool { return SameOrder && l.Mem == l.Stored }

// InPlace reports whether what is stored may also be read into memory as it is: there every
// bit pattern is a valid element.
func (l Layout) InPlace() bool { return l.Raw() && l.Elem != container.Bool }

// Bytes is the memory of n elements.
func (l Layout) Bytes(p unsafe.Pointer, n int) []byte {
	return unsafe.Slice((*byte)(p), n*l.Mem)
}

// At is the address of element i.
func (l Layout) At(p unsafe.Pointer, i int) unsafe.Pointer {
	if i == 0 {
		return p // p may be nil or point behind an object of size zero
	}
	return unsafe.Add(p, i*l.Mem)
}

// Write stores elements.
func (l Layout) Write(w io.Writer, p unsafe.Pointer, n int) (int64, error) {
	if n == 0 {
		return 0, nil
	}
	if l.Raw() {
		k, err := w.Write(l.Bytes(p, n))
		return int64(k), err
	}
	var total int64
	buf := make([]byte, min(n, convertBytes/l.Stored)*l.Stored)
	for done := 0; done < n; {
		m := min(n-done, len(buf)/l.Stored)
		l.Encode(buf, l.At(p, done), m)
		k, err := w.Write(buf[:m*l.Stored])
		total += int64(k)
		if err != nil {
			return total, err
		}
		done += m
	}
	return total, nil
}

// Read fills them with what is stored.
func (l Layout) Read(r io.Reader, p unsafe.Pointer, n int) (int64, error) {
	if n == 0 {
		return 0, nil
	}
	want := int64(n) * int64(l.Stored)
	if l.InPlace() {
		k, err := io.ReadFull(r, l.Bytes(p, n))
		if err != nil {
			return int64(k), Short(err, int64(k), want)
		}
		return int64(k), nil
	}
	var total int64
	buf := make([]byte, min(n, convertBytes/l.Stored)*l.Stored)
	for done := 0; done < n; {
		m := min(n-done, len(buf)/l.Stored)
		k, err := io.ReadFull(r, buf[:m*l.Stored])
		total += int64(k)
		if err != nil {
			return total, Short(err, total, want)
		}
		if err := l.Decode(l.At(p, done), buf, m); err != nil {
			return total, err
		}
		done += m
	}
	return total, nil
}

// ReadAt is Read at an offset. A large run is one ReadAt, which the container
// decodes in parallel.
func (l Layout) ReadAt(src io.ReaderAt, off int64, p unsafe.Pointer, n int) error {
	if l.InPlace() {
		b := l.Bytes(p, n)
		k, err := src.ReadAt(b, off)
		if k < len(b) {
			return Short(err, int64(k), int64(len(b)))
		}
		return nil
	}
	_, err := l.Read(io.NewSectionReader(src, off, int64(n)*int64(l.Stored)), p, n)
	return err
}

// Encode fills dst with the file's form.
func (l Layout) Encode(dst []byte, p unsafe.Pointer, n int) {
	if l.Mem < l.Stored {
		for i := range n {
			u := *(*uint32)(unsafe.Add(p, i*4))
			x := uint64(u)
			if l.signed {
				x = uint64(int64(int32(u)))
			}
			binary.LittleEndian.PutUint64(dst[i*8:], x)
		}
		return
	}
	l.reorder(dst, l.Bytes(p, n))
}

// reorder copies numbers from the machine's byte order to the file's, or back, which is
// the same.
func (l Layout) reorder(dst, src []byte) {
	little, native := binary.LittleEndian, binary.NativeEndian
	switch l.word {
	case 1:
		copy(dst, src)
	case 2:
		for i := 0; i < len(src); i += 2 {
			little.PutUint16(dst[i:], native.Uint16(src[i:]))
		}
	case 4:
		for i := 0; i < len(src); i += 4 {
			little.PutUint32(dst[i:], native.Uint32(src[i:]))
		}
	case 8:
		for i := 0; i < len(src); i += 8 {
			little.PutUint64(dst[i:], native.Uint64(src[i:]))
		}
	}
}

// Decode fills the memory from the file's form. It checks what not every bit
// pattern is valid for.
func (l Layout) Decode(p unsafe.Pointer, src []byte, n int) error {
	if l.Mem < l.Stored {
		return l.narrow(p, src, n)
	}
	if l.Elem == container.Bool {
		for _, x := range src[:n] {
			if x > 1 {
				return fmt.Errorf("cptypes: %w: a bool is 0 or 1, not %d", ErrCorrupt, x)
			}
		}
	}
	l.reorder(l.Bytes(p, n), src[:n*l.Stored])
	return nil
}

// narrow reads 8-byte integers into an int or uint of 4 bytes.
func (l Layout) narrow(p unsafe.Pointer, src []byte, n int) error {
	for i := range n {
		x := binary.LittleEndian.Uint64(src[i*8:])
		fits := x <= math.MaxUint32
		if l.signed {
			fits = int64(x) == int64(int32(x))
		}
		if !fits {
			return fmt.Errorf("cptypes: stored integer %d does not fit into the %d bits of an int on this machine",
				int64(x), l.Mem*8)
		}
		*(*uint32)(unsafe.Add(p, i*4)) = uint32(x)
	}
	return nil
}
