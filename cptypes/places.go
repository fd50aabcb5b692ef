package cptypes

import (
	"io"
	"reflect"
	"sync"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// places are elements in memory, in the order in which they are stored. They
// are counted from 0 in this order.
type places[T Elem] interface {
	elems() int
	// move copies the elements at, at+1, ... to buf or, if back, from buf to their places.
	move(buf []T, at int, back bool)
	// unit is a number of elements that are best moved together.
	unit() int
	// run is the length of the shortest run of neighbours in memory. eachRun
	// passes all runs on in order, until yield returns an error.
	run() int
	eachRun(yield func(run []T) error) error
}

const (
	// packBytes is the size of the buffer that small runs are packed into.
	packBytes = 128 << 10
	// packLimit is its size where only several units in one buffer are fast: the
	// rows of a column-major matrix.
	packLimit = 4 << 20
	// packUnits is how many units that buffer has room for, if possible.
	packUnits = 16
	// directBytes: runs of so many bytes are written, and read into, where they
	// are. Packing would only copy them once more.
	directBytes = 4 << 10
)

// packBuffers are shared by all values. Their words are read as elements of any
// type: none is larger aligned, and none holds pointers.
var packBuffers = sync.Pool{New: func() any { return new([packBytes / 8]uint64) }}

// packBuffer is a buffer for elements of p, and a function to give it back.
func packBuffer[T Elem](p places[T]) (buf []T, done func()) {
	size := int(unsafe.Sizeof(*new(T)))
	unit := p.unit()
	if want := min(packLimit/size/unit, packUnits) * unit; want > packBytes/size {
		return make([]T, min(want, p.elems())), func() {}
	}
	words := packBuffers.Get().(*[packBytes / 8]uint64)
	n := packBytes / size
	if n > unit {
		n -= n % unit
	}
	return unsafe.Slice((*T)(unsafe.Pointer(words)), n), func() { packBuffers.Put(words) }
}

func elemLayout[T Elem]() layout {
	l, _ := element.Of(reflect.TypeFor[T]().Kind())
	return l
}

// direct says that p consists of few long runs.
func direct[T Elem](p places[T]) bool {
	run := p.run()
	return run == p.elems() || run >= directBytes/int(unsafe.Sizeof(*new(T)))
}

func pack[T Elem](w io.Writer, l layout, p places[T]) (int64, error) {
	return pass(p, false, func(at unsafe.Pointer, n int) (int64, error) { return l.Write(w, at, n) })
}

func unpack[T Elem](r io.Reader, l layout, p places[T]) (int64, error) {
	return pass(p, true, func(at unsafe.Pointer, n int) (int64, error) { return l.Read(r, at, n) })
}

// pass lets each be done to all elements in order, n of them at a time: where they are, or
// in a buffer that they are moved to before or, if each fills it, from then.
func pass[T Elem](p places[T], fills bool, each func(at unsafe.Pointer, n int) (int64, error)) (total int64, err error) {
	n := p.elems()
	if n == 0 {
		return 0, nil
	}
	if direct(p) {
		err = p.eachRun(func(run []T) error {
			k, err := each(unsafe.Pointer(unsafe.SliceData(run)), len(run))
			total += k
			return err
		})
		return total, err
	}
	buf, done := packBuffer(p)
	defer done()
	for at := 0; at < n; at += len(buf) {
		b := buf[:min(len(buf), n-at)]
		if !fills {
			p.move(b, at, false)
		}
		k, err := each(unsafe.Pointer(unsafe.SliceData(b)), len(b))
		total += k
		if err != nil {
			return total, err
		}
		if fills {
			p.move(b, at, true)
		}
	}
	return total, nil
}

// spansOf is the memory of p if it consists of few long runs.
func spansOf[T Elem](l layout, p places[T]) ([][]byte, bool) {
	if !l.Raw() {
		return nil, false
	}
	if p.elems() == 0 {
		return nil, true
	}
	if !direct(p) {
		return nil, false
	}
	var spans [][]byte
	_ = p.eachRun(func(run []T) error {
		spans = append(spans, l.Bytes(unsafe.Pointer(unsafe.SliceData(run)), len(run)))
		return nil
	})
	return spans, true
}
