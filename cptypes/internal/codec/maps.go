package codec

import (
	"bytes"
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
	keys, elems := e.parts(m.Len()), e.parts(m.Len())
	key, elem := reflect.New(o.typ.Key()), reflect.New(o.typ.Elem())
	for it := m.MapRange(); it.Next(); {
		key.Elem().SetIterKey(it)
		elem.Elem().SetIterValue(it)
		if err := keys.run(o.key.code, key.UnsafePointer()); err != nil {
			return within("[key]", err)
		}
		if err := elems.run(o.sub.code, elem.UnsafePointer()); err != nil {
			return within("[]", err)
		}
		keys.end()
		elems.end()
	}
	// NaNs may be several keys.
	items := keys.sorted(func(a, b uint64) int { return bytes.Compare(elems.at(a), elems.at(b)) })
	if err := keys.write(e, items); err != nil {
		return err
	}
	return elems.write(e, items)
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
