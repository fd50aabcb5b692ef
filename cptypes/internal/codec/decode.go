package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// decoder reads by plans. It trusts no length: what is made for a value grows
// with the bytes that are really there.
type decoder struct {
	r      io.Reader
	buf    []byte
	i, n   int   // buf[i:n] is still to be decoded
	total  int64 // bytes taken from r
	types  schema
	seen   *addresses // pointers and maps of the variable that were read into
	memory Memory
	reused int // slices that keep their memory, and regions to avoid
	zones  element.Zones
	depth  int
	// apart: what is read into is a copy of a variable, whose pointers, maps and slices
	// refer to what is that of the variable.
	apart bool
}

var decoders = sync.Pool{New: func() any { return &decoder{buf: make([]byte, bufferBytes)} }}

// Read fills the variable at p with all that r holds. Fields that are not stored keep what
// they hold, except in the elements of slices and maps, which are new. What is in avoid is
// left alone: pointers to it get new memory. An *UnfitError says why what is stored does not
// fit.
func (c *Codec) Read(r io.Reader, p unsafe.Pointer, avoid []Region) (int64, error) {
	d := decoders.Get().(*decoder)
	*d = decoder{r: r, buf: d.buf, seen: new(addresses), memory: Memory{Avoid: avoid, Filled: slices.Clone(avoid)}, reused: len(avoid)}
	for _, a := range avoid {
		d.seen.put(a.From)
	}
	defer func() {
		*d = decoder{buf: d.buf}
		decoders.Put(d)
	}()
	err := c.decode(d, p)
	return d.total, c.locate(err)
}

func (c *Codec) decode(d *decoder, p unsafe.Pointer) error {
	encoded, err := d.header()
	if err != nil {
		return err
	}
	pl, err := c.planOf(encoded)
	if err != nil {
		return err
	}
	d.types = pl.types
	d.seen.add(p)
	if err := d.run(pl.root.code, p); err != nil {
		return err
	}
	switch err := d.need(1); {
	case err == nil:
		return fmt.Errorf("cptypes: %w: bytes are left behind the value", element.ErrCorrupt)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil
	default:
		return err
	}
}

// header reads magic and schema.
func (d *decoder) header() (string, error) {
	if err := d.need(len(magic)); err != nil {
		return "", err
	}
	begin := string(d.buf[d.i : d.i+len(magic)])
	d.i += len(magic)
	if begin != magic {
		if begin[:len(magic)-1] == magic[:len(magic)-1] {
			return "", unfitf("it is stored in version %d of the encoding of structs and maps; this program reads version %d", begin[3], magic[3])
		}
		return "", unfitf("it is not stored as a struct or map")
	}
	size, err := d.uvarint()
	if err != nil {
		return "", err
	}
	if size > maxSchema {
		return "", fmt.Errorf("cptypes: %w: a schema of %d bytes", element.ErrCorrupt, size)
	}
	encoded := make([]byte, size)
	err = d.read(encoded)
	return string(encoded), err
}

// need makes sure that k bytes are in the buffer, which must be able to hold
// them.
func (d *decoder) need(k int) error {
	if d.n-d.i >= k {
		return nil
	}
	d.n = copy(d.buf, d.buf[d.i:d.n])
	d.i = 0
	n, err := io.ReadAtLeast(d.r, d.buf[d.n:], k-d.n)
	d.n += n
	d.total += int64(n)
	if d.n >= k {
		return nil
	}
	return d.short(err)
}

func (d *decoder) short(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("cptypes: the stored bytes end in the middle of the value, at %d: %w", d.total, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("cptypes: reading at %d: %w", d.total, err)
}

// read fills b.
func (d *decoder) read(b []byte) error {
	if len(b) <= d.n-d.i {
		d.i += copy(b, d.buf[d.i:d.n])
		return nil
	}
	done := copy(b, d.buf[d.i:d.n])
	d.i, d.n = 0, 0
	if b = b[done:]; len(b) <= len(d.buf)/2 {
		if err := d.need(len(b)); err != nil {
			return err
		}
		d.i = copy(b, d.buf[:d.n])
		return nil
	}
	n, err := io.ReadFull(d.r, b)
	d.total += int64(n)
	if err != nil {
		return d.short(err)
	}
	return nil
}

func (d *decoder) uvarint() (uint64, error) {
	if d.n > d.i && d.buf[d.i] < 0x80 {
		d.i++
		return uint64(d.buf[d.i-1]), nil
	}
	for k := 1; k <= binary.MaxVarintLen64; k++ {
		if err := d.need(k); err != nil {
			return 0, err
		}
		if d.buf[d.i+k-1] < 0x80 {
			x, n := binary.Uvarint(d.buf[d.i : d.i+k])
			if n <= 0 {
				break
			}
			d.i += k
			return x, nil
		}
	}
	return 0, corruptf("a number of more than 64 bits")
}

// length reads the length of a string, or of what a type with code of its own wrote.
func (d *decoder) length() (int, error) {
	x, err := d.uvarint()
	if err == nil && x > math.MaxInt {
		err = corruptf("a length of %d", x)
	}
	return int(x), err
}

// text reads a string.
func (d *decoder) text(s *string) error {
	n, err := d.length()
	if err != nil {
		return err
	}
	if n <= len(d.buf) {
		if err := d.need(n); err != nil {
			return err
		}
		*s = string(d.buf[d.i : d.i+n])
		d.i += n
		return nil
	}
	b, err := d.long(n)
	if err == nil {
		*s = unsafe.String(unsafe.SliceData(b), n)
	}
	return err
}

// long reads n bytes into new memory.
func (d *decoder) long(n int) (b []byte, err error) {
	for done, next := range element.Growing(n, 1) {
		b = append(make([]byte, 0, next), b...)[:next]
		if err := d.read(b[done:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// run reads into the memory at p.
func (d *decoder) run(code []op, p unsafe.Pointer) error {
	for i := range code {
		o := &code[i]
		q := unsafe.Add(p, o.off)
		var err error
		switch o.kind {
		case opCopy:
			err = d.copy(q, o.size)
		case opString:
			err = d.text((*string)(q))
		case opConvert:
			err = d.convert(o.conv, q, o.size)
		case opWiden:
			err = d.widen(o, q)
		case opTime:
			if err = d.need(element.TimeBytes); err == nil {
				*(*time.Time)(q), err = d.zones.Time(d.buf[d.i:])
				d.i += element.TimeBytes
			}
		case opArray:
			err = d.rows(o.sub, q, o.size)
		case opSkip:
			err = d.skip(o.size)
		default:
			err = d.indirect(o, q)
		}
		if err != nil {
			return within(o.path, err)
		}
	}
	return nil
}

func (d *decoder) copy(q unsafe.Pointer, size int) error {
	if size > d.n-d.i {
		return d.read(unsafe.Slice((*byte)(q), size))
	}
	if size == 8 {
		*(*[8]byte)(q) = *(*[8]byte)(d.buf[d.i:])
	} else {
		copy(unsafe.Slice((*byte)(q), size), d.buf[d.i:])
	}
	d.i += size
	return nil
}

func (d *decoder) convert(l element.Layout, q unsafe.Pointer, n int) error {
	for done := 0; done < n; {
		if err := d.need(l.Stored); err != nil {
			return err
		}
		m := min(n-done, (d.n-d.i)/l.Stored)
		if err := l.Decode(l.At(q, done), d.buf[d.i:], m); err != nil {
			return err
		}
		d.i += m * l.Stored
		done += m
	}
	return nil
}

// rows reads n values of a type that lie behind each other.
func (d *decoder) rows(pr *program, p unsafe.Pointer, n int) error {
	if n == 0 || len(pr.code) == 0 {
		return nil
	}
	if o := pr.plain(); o != nil {
		if o.kind == opCopy {
			return d.read(unsafe.Slice((*byte)(p), n*o.size))
		}
		return d.convert(o.conv, p, n*o.size)
	}
	size := pr.typ.Size()
	for i := range n {
		if err := d.run(pr.code, unsafe.Add(p, uintptr(i)*size)); err != nil {
			return within("[]", err)
		}
	}
	return nil
}

// enter counts how deep values are nested.
func (d *decoder) enter() error {
	if d.depth++; d.depth > maxDepth {
		return corruptf("more than %d pointers, slices and maps within each other", maxDepth)
	}
	return nil
}

// indirect reads what does not go into the memory at q but behind it.
func (d *decoder) indirect(o *op, q unsafe.Pointer) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer func() { d.depth-- }()
	switch o.kind {
	case opCustom:
		return d.custom(o, q)
	case opSkipType:
		return d.skipType(o.node)
	}
	parts, err := d.uvarint() // plus 1
	if err != nil {
		return err
	}
	if parts == 0 {
		if o.kind == opSlice {
			*(*sliceHeader)(q) = sliceHeader{}
		} else {
			*(*unsafe.Pointer)(q) = nil
		}
		return nil
	}
	if parts-1 > math.MaxInt {
		return corruptf("a length of %d", parts-1)
	}
	switch n := int(parts - 1); o.kind {
	case opSlice:
		return d.elements(o.sub, o.typ, (*sliceHeader)(q), n)
	case opMap:
		return o.readMap(d, q, n)
	default:
		return d.pointer(o, q, n)
	}
}

// pointer reads into the variable that is pointed to, so that fields that are not
// stored stay. A new one is made for a nil, and for one that was read into before or is
// that of another value.
func (d *decoder) pointer(o *op, q unsafe.Pointer, n int) error {
	if n != 0 {
		return corruptf("a pointer is nil (0) or not (1), not %d", n+1)
	}
	to := *(*unsafe.Pointer)(q)
	switch {
	case to == nil:
		to = reflect.New(o.sub.typ).UnsafePointer()
	case d.apart || o.sub.typ.Size() > 0 && !d.seen.add(to):
		return d.copyOf(o, q)
	}
	*(*unsafe.Pointer)(q) = to
	return d.run(o.sub.code, to)
}

// copyOf lets the pointer at q point to a copy, and reads into that, and nowhere behind
// it: what the copied pointers, maps and slices refer to may have been read, or made,
// for another. What has its own code begins as zero: of the memory that it keeps nothing
// is known.
func (d *decoder) copyOf(o *op, q unsafe.Pointer) error {
	fresh := reflect.New(o.sub.typ)
	fresh.Elem().Set(reflect.NewAt(o.sub.typ, *(*unsafe.Pointer)(q)).Elem())
	o.sub.clearCustoms(fresh.UnsafePointer())
	*(*unsafe.Pointer)(q) = fresh.UnsafePointer()
	before := d.apart
	d.apart = true
	err := d.run(o.sub.code, fresh.UnsafePointer())
	d.apart = before
	return err
}

func (d *decoder) custom(o *op, q unsafe.Pointer) error {
	n, err := d.length()
	if err != nil {
		return err
	}
	var b []byte
	if n <= len(d.buf) {
		if err := d.need(n); err != nil {
			return err
		}
		b = d.buf[d.i : d.i+n : d.i+n]
		d.i += n
	} else if b, err = d.long(n); err != nil {
		return err
	}
	if err := o.custom.Get(reflect.NewAt(o.typ, q).Interface(), b, &d.memory); err != nil {
		return &located{"", err}
	}
	return nil
}

// clearCustoms makes those variables zero that have code of their own.
func (pr *program) clearCustoms(p unsafe.Pointer) {
	for i := range pr.code {
		switch o := &pr.code[i]; o.kind {
		case opCustom:
			reflect.NewAt(o.typ, unsafe.Add(p, o.off)).Elem().SetZero()
		case opArray:
			for k := range o.size {
				o.sub.clearCustoms(unsafe.Add(p, o.off+uintptr(k)*o.sub.typ.Size()))
			}
		}
	}
}
