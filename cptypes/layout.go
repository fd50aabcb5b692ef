package cptypes

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

// sameOrder says that numbers lie in memory in the file's byte order. A
// variable, so that tests can exercise the conversion on any machine.
var sameOrder = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// layout says how one element lies in memory and in the file. Its methods
// move n elements that lie at p without gaps.
type layout struct {
	elem   container.Elem
	mem    int  // bytes of an element in memory
	stored int  // bytes of an element in the file
	word   int  // bytes of memory that have one byte order: half a complex number
	signed bool // how to extend when stored > mem
}

// raw says that memory and file hold the same bytes.
func (l layout) raw() bool { return sameOrder && l.mem == l.stored }

// anyBits says that every bit pattern is a valid element, so that memory may
// be read into without a check.
func (l layout) anyBits() bool { return l.elem != container.Bool }

// bytes is the memory of n elements.
func (l layout) bytes(p unsafe.Pointer, n int) []byte {
	return unsafe.Slice((*byte)(p), n*l.mem)
}

// at is the address of element i.
func (l layout) at(p unsafe.Pointer, i int) unsafe.Pointer {
	if i == 0 {
		return p // p may be nil or point behind an object of size zero
	}
	return unsafe.Add(p, i*l.mem)
}

func (l layout) write(w io.Writer, p unsafe.Pointer, n int) (int64, error) {
	if n == 0 {
		return 0, nil
	}
	if l.raw() {
		k, err := w.Write(l.bytes(p, n))
		return int64(k), err
	}
	var total int64
	buf := make([]byte, min(n, convertBytes/l.stored)*l.stored)
	for done := 0; done < n; {
		m := min(n-done, len(buf)/l.stored)
		l.encode(buf, l.at(p, done), m)
		k, err := w.Write(buf[:m*l.stored])
		total += int64(k)
		if err != nil {
			return total, err
		}
		done += m
	}
	return total, nil
}

func (l layout) read(r io.Reader, p unsafe.Pointer, n int) (int64, error) {
	if n == 0 {
		return 0, nil
	}
	want := int64(n) * int64(l.stored)
	if l.raw() && l.anyBits() {
		k, err := io.ReadFull(r, l.bytes(p, n))
		if err != nil {
			return int64(k), short(err, int64(k), want)
		}
		return int64(k), nil
	}
	var total int64
	buf := make([]byte, min(n, convertBytes/l.stored)*l.stored)
	for done := 0; done < n; {
		m := min(n-done, len(buf)/l.stored)
		k, err := io.ReadFull(r, buf[:m*l.stored])
		total += int64(k)
		if err != nil {
			return total, short(err, total, want)
		}
		if err := l.decode(l.at(p, done), buf, m); err != nil {
			return total, err
		}
		done += m
	}
	return total, nil
}

// readAt is read at an offset. A large run is one ReadAt, which the container
// decodes in parallel.
func (l layout) readAt(src io.ReaderAt, off int64, p unsafe.Pointer, n int) error {
	if l.raw() && l.anyBits() {
		b := l.bytes(p, n)
		k, err := src.ReadAt(b, off)
		if k < len(b) {
			return short(err, int64(k), int64(len(b)))
		}
		return nil
	}
	_, err := l.read(io.NewSectionReader(src, off, int64(n)*int64(l.stored)), p, n)
	return err
}

// encode fills dst with the file's form.
func (l layout) encode(dst []byte, p unsafe.Pointer, n int) {
	if l.mem < l.stored {
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
	l.reorder(dst, l.bytes(p, n))
}

// reorder copies numbers from the machine's byte order to the file's, or back, which is
// the same.
func (l layout) reorder(dst, src []byte) {
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

// decode fills the memory from the file's form. It checks what not every bit
// pattern is valid for.
func (l layout) decode(p unsafe.Pointer, src []byte, n int) error {
	if l.mem < l.stored {
		return l.narrow(p, src, n)
	}
	if l.elem == container.Bool {
		for _, x := range src[:n] {
			if x > 1 {
				return fmt.Errorf("cptypes: %w: a bool is 0 or 1, not %d", ErrCorrupt, x)
			}
		}
	}
	l.reorder(l.bytes(p, n), src[:n*l.stored])
	return nil
}

// narrow reads 8-byte integers into an int or uint of 4 bytes.
func (l layout) narrow(p unsafe.Pointer, src []byte, n int) error {
	for i := range n {
		x := binary.LittleEndian.Uint64(src[i*8:])
		fits := x <= math.MaxUint32
		if l.signed {
			fits = int64(x) == int64(int32(x))
		}
		if !fits {
			return fmt.Errorf("cptypes: stored integer %d does not fit into the %d bits of an int on this machine",
				int64(x), l.mem*8)
		}
		*(*uint32)(unsafe.Add(p, i*4)) = uint32(x)
	}
	return nil
}
