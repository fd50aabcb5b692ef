package codec

import (
	"math/bits"
	"reflect"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// fastMapOf serves all map types whose keys and elements lie in memory like a K
// and a V: a map[label]float64 is used as a map[string]uint64. The runtime hashes
// integers of one size alike, and strings, and knows no other difference, unless
// there are pointers, which are in strings alone.
type fastMapOf[K fastKey, V fastElem] struct {
	textKeys bool
	elems    elemMode
}

type (
	fastKey  interface{ uint32 | uint64 | string }
	fastElem interface {
		struct{} | uint8 | uint32 | uint64 | string | [2]uint64 | [3]uint64 | [4]uint64 | [6]uint64 | [8]uint64
	}
)

// elemMode is how elements are stored.
type elemMode uint8

const (
	asBytes elemMode = iota // of at most 8 bytes
	asBool
	asText
	asProgram
)

// fastMap returns nil for types that must do without.
func (of Customs) fastMap(t reflect.Type) fastMap {
	if k := t.Key().Kind(); k == reflect.Float32 || k == reflect.Float64 {
		return nil // 0 and -0 are the same key, and no NaN is
	}
	switch of.fastKind(t.Key()) {
	case reflect.Uint32:
		return fastMapWith[uint32](of, t)
	case reflect.Uint64:
		return fastMapWith[uint64](of, t)
	case reflect.String:
		return fastMapWith[string](of, t)
	}
	return nil
}

func fastMapWith[K fastKey](of Customs, t reflect.Type) fastMap {
	text := t.Key().Kind() == reflect.String
	switch of.fastKind(t.Elem()) {
	case reflect.Struct:
		return &fastMapOf[K, struct{}]{text, asBytes}
	case reflect.Uint8:
		if t.Elem().Kind() == reflect.Bool {
			return &fastMapOf[K, uint8]{text, asBool}
		}
		return &fastMapOf[K, uint8]{text, asBytes}
	case reflect.Uint32:
		return &fastMapOf[K, uint32]{text, asBytes}
	case reflect.Uint64:
		return &fastMapOf[K, uint64]{text, asBytes}
	case reflect.String:
		return &fastMapOf[K, string]{text, asText}
	}
	if !likeWords(t.Elem()) {
		return nil
	}
	switch t.Elem().Size() {
	case 16:
		return &fastMapOf[K, [2]uint64]{text, asProgram}
	case 24:
		return &fastMapOf[K, [3]uint64]{text, asProgram}
	case 32:
		return &fastMapOf[K, [4]uint64]{text, asProgram}
	case 48:
		return &fastMapOf[K, [6]uint64]{text, asProgram}
	case 64:
		return &fastMapOf[K, [8]uint64]{text, asProgram}
	}
	return nil
}

// likeWords reports whether a type is aligned like a uint64, and has no pointers.
func likeWords(t reflect.Type) bool {
	return t.Align() == reflect.TypeFor[uint64]().Align() && !element.HasPointers(t)
}

// fastKind is the kind of the type that lies in memory like t; unless t is a
// float, it is hashed like t, too.
func (of Customs) fastKind(t reflect.Type) reflect.Kind {
	if custom, err := of(t); custom != nil || err != nil {
		return reflect.Invalid
	}
	k := t.Kind()
	switch k {
	case reflect.String:
		return k
	case reflect.Struct:
		if t.NumField() == 0 {
			return k
		}
	case reflect.Complex64, reflect.Complex128:
		return reflect.Invalid // aligned otherwise
	}
	if l, ok := element.Of(k); ok && l.Raw() {
		return map[int]reflect.Kind{1: reflect.Uint8, 4: reflect.Uint32, 8: reflect.Uint64}[l.Mem]
	}
	return reflect.Invalid
}

func (f *fastMapOf[K, V]) write(e *encoder, o *op, q unsafe.Pointer) error {
	m := *(*map[K]V)(q)
	switch {
	case f.textKeys:
		return f.writeTexts(e, o, m)
	case f.elems >= asText:
		return f.writeIntegers(e, o, m)
	}
	return f.writeNumbers(e, m)
}

// writeNumbers sorts keys and elements together.
func (f *fastMapOf[K, V]) writeNumbers(e *encoder, m map[K]V) error {
	items := make([]sortItem, 0, len(m))
	for k, v := range m {
		var entry uint64
		*(*V)(unsafe.Pointer(&entry)) = v // of at most 8 bytes
		items = append(items, sortItem{keyWord(&k), entry})
	}
	sortWords(items, nil)
	if err := f.writeKeys(e, items); err != nil {
		return err
	}
	var v V
	for i := range items {
		if err := e.copy(unsafe.Pointer(&items[i].entry), int(unsafe.Sizeof(v))); err != nil {
			return err
		}
	}
	return nil
}

// writeIntegers is for elements that do not fit beside the key.
func (f *fastMapOf[K, V]) writeIntegers(e *encoder, o *op, m map[K]V) error {
	items := make([]sortItem, 0, len(m))
	elems := make([]V, 0, len(m))
	for k, v := range m {
		items = append(items, sortItem{keyWord(&k), uint64(len(elems))})
		elems = append(elems, v)
	}
	sortWords(items, nil)
	if err := f.writeKeys(e, items); err != nil {
		return err
	}
	return f.writeElems(e, o, items, elems)
}

func (f *fastMapOf[K, V]) writeKeys(e *encoder, items []sortItem) error {
	var k K
	for _, it := range items {
		wordKey(it.word, &k)
		if err := e.copy(unsafe.Pointer(&k), int(unsafe.Sizeof(k))); err != nil {
			return err
		}
	}
	return nil
}

// writeTexts is for keys that are strings.
func (f *fastMapOf[K, V]) writeTexts(e *encoder, o *op, m map[K]V) error {
	keys := e.parts(len(m))
	elems := make([]V, 0, len(m))
	for k, v := range m {
		if err := keys.text(*(*string)(unsafe.Pointer(&k))); err != nil {
			return err
		}
		keys.end()
		elems = append(elems, v)
	}
	items := keys.sorted(nil)
	if err := keys.write(e, items); err != nil {
		return err
	}
	return f.writeElems(e, o, items, elems)
}

func (f *fastMapOf[K, V]) writeElems(e *encoder, o *op, items []sortItem, elems []V) error {
	for _, it := range items {
		var err error
		switch v := unsafe.Pointer(&elems[it.entry]); f.elems {
		case asText:
			err = e.text(*(*string)(v))
		case asProgram:
			err = within("[]", e.run(o.sub.code, v))
		default:
			err = e.copy(v, int(unsafe.Sizeof(elems[0])))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keyWord is an integer's little-endian bytes, the first one in the highest bits.
func keyWord[K fastKey](k *K) uint64 {
	if unsafe.Sizeof(*k) == 4 {
		return uint64(bits.ReverseBytes32(*(*uint32)(unsafe.Pointer(k)))) << 32
	}
	return bits.ReverseBytes64(*(*uint64)(unsafe.Pointer(k)))
}

func wordKey[K fastKey](w uint64, k *K) {
	if unsafe.Sizeof(*k) == 4 {
		*(*uint32)(unsafe.Pointer(k)) = bits.ReverseBytes32(uint32(w >> 32))
		return
	}
	*(*uint64)(unsafe.Pointer(k)) = bits.ReverseBytes64(w)
}

// read fills the map, which is empty; a fresh one is made here, when the keys are
// known.
func (f *fastMapOf[K, V]) read(d *decoder, o *op, q unsafe.Pointer, n int, fresh bool) error {
	var keys []K
	if err := d.elements(o.key, reflect.TypeFor[[]K](), (*sliceHeader)(unsafe.Pointer(&keys)), n); err != nil {
		return err
	}
	m := *(*map[K]V)(q)
	if fresh {
		m = make(map[K]V, n)
		*(*map[K]V)(q) = m
	}
	var v, zero V // v is on the heap: one is enough
	for _, k := range keys {
		v = zero
		if err := f.readElem(d, o, &v); err != nil {
			return within("[]", err)
		}
		m[k] = v
	}
	return nil
}

func (f *fastMapOf[K, V]) readElem(d *decoder, o *op, v *V) error {
	switch f.elems {
	case asText:
		return d.text((*string)(unsafe.Pointer(v)))
	case asProgram:
		return d.run(o.sub.code, unsafe.Pointer(v))
	}
	if err := d.copy(unsafe.Pointer(v), int(unsafe.Sizeof(*v))); err != nil {
		return err
	}
	if f.elems == asBool && *(*uint8)(unsafe.Pointer(v)) > 1 {
		return corruptf("a bool is 0 or 1, not %d", *(*uint8)(unsafe.Pointer(v)))
	}
	return nil
}

// canMove reports whether elements that are stored like this can be written and read.
func (f *fastMapOf[K, V]) canMove(key, elem *program) bool {
	return key.asInMemory() && (f.elems == asProgram || elem.asInMemory())
}
