package codec

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// Maps are stored as the number of entries plus 1 (uvarint), all keys, all values, in
// ascending order of the bytes of the encoded keys: equal maps are stored as equal
// bytes. All keys before all values, because then a reader has seen that the entries
// are really there when it makes the map.

// fastMap is a map whose key and element types the compiler knows.
type fastMap interface {
	write(e *encoder, o *op, m unsafe.Pointer) error
	read(d *decoder, o *op, m unsafe.Pointer, n int, fresh bool) error
	canMove(key, elem *program) bool
}

// writeMap writes the map that is in the variable at q, which is not nil.
func (o *op) writeMap(e *encoder, q unsafe.Pointer) error {
	m := reflect.NewAt(o.typ, q).Elem()
	if err := e.uvarint(uint64(m.Len()) + 1); err != nil {
		return err
	}
	if o.fast != nil {
		return o.fast.write(e, o, q)
	}
	w := entriesWriter{
		keys:  encoder{seen: e.seen, depth: e.depth},
		elems: encoder{seen: e.seen, depth: e.depth},
		ends:  make([]entryEnds, 1, m.Len()+1),
	}
	key, elem := reflect.New(o.typ.Key()), reflect.New(o.typ.Elem())
	for it := m.MapRange(); it.Next(); {
		key.Elem().SetIterKey(it)
		elem.Elem().SetIterValue(it)
		if err := w.keys.run(o.key.code, key.UnsafePointer()); err != nil {
			return within("[key]", err)
		}
		if err := w.elems.run(o.sub.code, elem.UnsafePointer()); err != nil {
			return within("[]", err)
		}
		w.ends = append(w.ends, entryEnds{w.keys.n, w.elems.n})
	}
	return w.write(e)
}

// entriesWriter holds encoded entries until they are sorted.
type entriesWriter struct {
	keys, elems encoder
	ends        []entryEnds // entry i ends at ends[i+1]
}

type entryEnds struct{ key, elem int }

func (w *entriesWriter) key(i uint64) []byte { return w.keys.buf[w.ends[i].key:w.ends[i+1].key] }

func (w *entriesWriter) elem(i uint64) []byte { return w.elems.buf[w.ends[i].elem:w.ends[i+1].elem] }

func (w *entriesWriter) write(e *encoder) error {
	items := make([]sortItem, len(w.ends)-1)
	order := byteOrder{
		window: func(i uint64, from int) uint64 { return window(w.key(i), from) },
		common: func(a, b uint64) int { return commonPrefix(w.key(a), w.key(b)) },
		compare: func(a, b uint64) int {
			if c := bytes.Compare(w.key(a), w.key(b)); c != 0 {
				return c
			}
			return bytes.Compare(w.elem(a), w.elem(b)) // NaNs may be several keys
		},
	}
	for i := range items {
		items[i].entry = uint64(i)
		order.longest = max(order.longest, len(w.key(uint64(i))))
	}
	order.sort(items, 0)
	for _, it := range items {
		if err := e.bytes(w.key(it.entry)); err != nil {
			return err
		}
	}
	for _, it := range items {
		if err := e.bytes(w.elem(it.entry)); err != nil {
			return err
		}
	}
	return nil
}

// commonPrefix looks at whole windows only.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i+windowSize <= n && binary.NativeEndian.Uint64(a[i:]) == binary.NativeEndian.Uint64(b[i:]) {
		i += windowSize
	}
	return i
}

func window(b []byte, from int) uint64 {
	if len(b) >= from+windowSize {
		return binary.BigEndian.Uint64(b[from:])
	}
	var w uint64
	for i := from; i < from+windowSize; i++ {
		w <<= 8
		if i < len(b) {
			w |= uint64(b[i])
		}
	}
	return w
}

// readMap reads into the map variable at q the n entries that follow. A map that is
// there is cleared and filled again, as other variables may hold it, too.
func (o *op) readMap(d *decoder, q unsafe.Pointer, n int) error {
	m := reflect.NewAt(o.typ, q).Elem()
	fresh := m.IsNil() || d.apart || !d.seen.add(*(*unsafe.Pointer)(q))
	if !fresh {
		m.Clear()
	}
	if n > 1 && o.key.fixed == 0 {
		return corruptf("a map has %d entries and one possible key", n)
	}
	var err error
	if o.fast != nil {
		err = o.fast.read(d, o, q, n, fresh)
	} else {
		err = o.reflectMap(d, m, n, fresh)
	}
	if err == nil && m.Len() != n {
		err = corruptf("a map has %d entries, but %d different keys", n, m.Len())
	}
	return err
}

func (o *op) reflectMap(d *decoder, m reflect.Value, n int, fresh bool) error {
	var keys sliceHeader
	if err := d.elements(o.key, reflect.SliceOf(o.typ.Key()), &keys, n); err != nil {
		return within("[key]", err)
	}
	all := reflect.NewAt(reflect.SliceOf(o.typ.Key()), unsafe.Pointer(&keys)).Elem()
	if fresh {
		// An entry may be larger in memory than in the file.
		m.Set(reflect.MakeMapWithSize(o.typ, min(n, element.Trusted/max(1, int(o.typ.Elem().Size()>>6)))))
	}
	elem := reflect.New(o.typ.Elem())
	for i := range n {
		elem.Elem().SetZero()
		if err := d.run(o.sub.code, elem.UnsafePointer()); err != nil {
			return within("[]", err)
		}
		m.SetMapIndex(all.Index(i), elem.Elem())
	}
	return nil
}
