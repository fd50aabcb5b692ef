package codec

import (
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/element"
)

const (
	bufferBytes = 128 << 10
	maxDepth    = 10000 // pointers, slices and maps within each other, in a value
)

// encoder writes by programs. Its buffer is handed to w piece by piece; without
// w it grows and keeps everything.
type encoder struct {
	w     io.Writer
	buf   []byte
	n     int // bytes in buf
	total int64
	seen  *addresses
	depth int
}

var encoders = sync.Pool{New: func() any { return &encoder{buf: make([]byte, bufferBytes)} }}

// Write stores the variable at p.
func (c *Codec) Write(w io.Writer, p unsafe.Pointer) (int64, error) {
	e := encoders.Get().(*encoder)
	*e = encoder{w: w, buf: e.buf, seen: new(addresses)}
	defer func() {
		e.w, e.seen = nil, nil
		encoders.Put(e)
	}()
	e.seen.add(p)
	err := e.bytes(c.header)
	if err == nil {
		err = e.run(c.root.code, p)
	}
	if err == nil {
		err = e.flush(0)
	}
	return e.total, c.locate(err)
}

// room makes sure that k bytes fit into the buffer, if they do when it is empty.
func (e *encoder) room(k int) error {
	if len(e.buf)-e.n >= k {
		return nil
	}
	return e.flush(k)
}

func (e *encoder) flush(k int) error {
	if e.w == nil {
		e.buf = append(make([]byte, 0, 2*len(e.buf)+k), e.buf[:e.n]...)
		e.buf = e.buf[:cap(e.buf)]
		return nil
	}
	n, err := e.w.Write(e.buf[:e.n])
	e.total += int64(n)
	e.n = 0
	return err
}

func (e *encoder) bytes(b []byte) error {
	if err := e.room(len(b)); err != nil {
		return err
	}
	if len(b) <= len(e.buf)-e.n {
		e.n += copy(e.buf[e.n:], b)
		return nil
	}
	n, err := e.w.Write(b)
	e.total += int64(n)
	return err
}

func (e *encoder) uvarint(x uint64) error {
	if err := e.room(binary.MaxVarintLen64); err != nil {
		return err
	}
	e.n += binary.PutUvarint(e.buf[e.n:], x)
	return nil
}

func (e *encoder) text(s string) error {
	if err := e.uvarint(uint64(len(s))); err != nil {
		return err
	}
	return e.bytes(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// sliceHeader is a slice of any type.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

// run writes what lies at p.
func (e *encoder) run(code []op, p unsafe.Pointer) error {
	for i := range code {
		o := &code[i]
		q := unsafe.Add(p, o.off)
		var err error
		switch o.kind {
		case opCopy:
			err = e.copy(q, o.size)
		case opString:
			err = e.text(*(*string)(q))
		case opConvert:
			err = e.convert(o.conv, q, o.size)
		case opTime:
			err = e.time(*(*time.Time)(q))
		case opArray:
			err = e.rows(o.sub, q, o.size)
		default:
			err = e.indirect(o, q)
		}
		if err != nil {
			return within(o.path, err)
		}
	}
	return nil
}

func (e *encoder) copy(q unsafe.Pointer, size int) error {
	if size > len(e.buf)-e.n {
		return e.bytes(unsafe.Slice((*byte)(q), size))
	}
	if size == 8 {
		*(*[8]byte)(e.buf[e.n:]) = *(*[8]byte)(q)
	} else {
		copy(e.buf[e.n:], unsafe.Slice((*byte)(q), size))
	}
	e.n += size
	return nil
}

func (e *encoder) time(t time.Time) error {
	if err := element.CheckZone(t); err != nil {
		return &located{"", err}
	}
	if err := e.room(element.TimeBytes); err != nil {
		return err
	}
	element.PutTime(e.buf[e.n:], t)
	e.n += element.TimeBytes
	return nil
}

func (e *encoder) convert(l element.Layout, q unsafe.Pointer, n int) error {
	for done := 0; done < n; {
		if err := e.room(l.Stored); err != nil {
			return err
		}
		m := min(n-done, (len(e.buf)-e.n)/l.Stored)
		l.Encode(e.buf[e.n:], l.At(q, done), m)
		e.n += m * l.Stored
		done += m
	}
	return nil
}

// rows writes n values of a type that lie behind each other.
func (e *encoder) rows(pr *program, p unsafe.Pointer, n int) error {
	if n == 0 || len(pr.code) == 0 {
		return nil
	}
	if o := pr.plain(); o != nil {
		if o.kind == opCopy {
			return e.bytes(unsafe.Slice((*byte)(p), n*o.size))
		}
		return e.convert(o.conv, p, n*o.size)
	}
	size := pr.typ.Size()
	for i := range n {
		if err := e.run(pr.code, unsafe.Add(p, uintptr(i)*size)); err != nil {
			return within("[]", err)
		}
	}
	return nil
}

// indirect writes what is not in the memory at q but behind it.
func (e *encoder) indirect(o *op, q unsafe.Pointer) error {
	if o.kind == opCustom {
		b, err := o.custom.Put(reflect.NewAt(o.typ, q).Interface())
		if err != nil {
			return &located{"", err}
		}
		return e.text(unsafe.String(unsafe.SliceData(b), len(b)))
	}
	if e.depth++; e.depth > maxDepth {
		return &located{"", fmt.Errorf("%w: more than %d pointers, slices and maps within each other; store a long list as a slice", ErrDepth, maxDepth)}
	}
	defer func() { e.depth-- }()
	switch o.kind {
	case opSlice:
		return e.slice(o.sub, (*sliceHeader)(q))
	case opPointer:
		to := *(*unsafe.Pointer)(q)
		if to == nil {
			return e.uvarint(0)
		}
		if err := e.once(to, o.sub.typ.Size()); err != nil {
			return err
		}
		if err := e.uvarint(1); err != nil {
			return err
		}
		return e.run(o.sub.code, to)
	}
	m := *(*unsafe.Pointer)(q)
	if m == nil {
		return e.uvarint(0)
	}
	if err := e.once(m, 1); err != nil {
		return err
	}
	return o.writeMap(e, q)
}

func (e *encoder) slice(elem *program, s *sliceHeader) error {
	if s.data == nil {
		return e.uvarint(0)
	}
	if err := e.uvarint(uint64(s.len) + 1); err != nil {
		return err
	}
	if elem.recursive && s.len > 0 {
		if err := e.once(s.data, elem.typ.Size()); err != nil {
			return err
		}
	}
	if elem.fixed == 0 && uintptr(s.len)*elem.typ.Size() > element.Trusted {
		return &located{"[]", fmt.Errorf("%w %v: %d elements of which nothing is stored", element.ErrUnsupported, elem.typ, s.len)}
	}
	if len(elem.code) == 1 && elem.code[0].kind == opPointer && s.len > fewItems {
		e.seen.expect(s.len)
	}
	return e.rows(elem, s.data, s.len)
}

// once refuses what is reached for the second time: two pointers to one variable
// would come back as pointers to two, and a cycle would never end.
func (e *encoder) once(p unsafe.Pointer, size uintptr) error {
	if size > 0 && !e.seen.add(p) {
		return &located{"", fmt.Errorf("%w: store it once and an index or a key in its other places, or leave those out with the tag `craft:\"-\"`", ErrShared)}
	}
	return nil
}
