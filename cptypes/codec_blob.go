package cptypes

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"reflect"

	"github.com/craft-go/craft/storage/container"
)

// blobCodec is how a type with code of its own is stored inside of structs and
// maps: as a number of bytes that only this code understands.
type blobCodec struct {
	name string // stored: names the interface and the type
	put  func(ptr any) ([]byte, error)
	get  func(ptr any, b []byte) error // must not keep b
	// places: it may tell the memory that it refers to.
	places bool
}

var (
	valueType    = reflect.TypeFor[Value]()
	marshalsType = reflect.TypeFor[marshaler]()
	gobType      = reflect.TypeFor[gobber]()
	spannerType  = reflect.TypeFor[Spanner]()
	placedType   = reflect.TypeFor[placed]()
)

type gobber interface {
	gob.GobEncoder
	gob.GobDecoder
}

// blobOf returns the codec of t, nil if t has no code of its own.
func blobOf(t reflect.Type) (*blobCodec, error) {
	ptr := reflect.PointerTo(t)
	if err := drained(ptr); err != nil {
		return nil, err
	}
	_, adapted := adapterOf(ptr)
	if t.Kind() == reflect.Struct && !adapted {
		known, err := foreign(reflect.New(t).Interface())
		if err != nil {
			return nil, err
		}
		adapted = known != nil
	}
	switch {
	case adapted:
		return &blobCodec{"value " + t.String(), putValue, getValue, true}, nil
	case ptr.Implements(valueType) && declares(t, "WriteTo", "ReadFrom"):
		if err := checkAbilities(ptr); err != nil {
			return nil, err
		}
		return &blobCodec{"value " + t.String(), putValue, getValue, ptr.Implements(spannerType) || ptr.Implements(placedType)}, nil
	case ptr.Implements(marshalsType) && declares(t, "MarshalBinary", "UnmarshalBinary"):
		return &blobCodec{"binary " + t.String(), putBinary, getBinary, false}, nil
	case ptr.Implements(gobType) && declares(t, "GobEncode", "GobDecode"):
		return &blobCodec{"gob " + t.String(), putGob, getGob, false}, nil
	}
	return nil, nil
}

// update lets a value fetch its data, if it has to.
func update(v any) error {
	if u, ok := v.(Updater); ok {
		return u.Update()
	}
	return nil
}

func putBinary(ptr any) ([]byte, error) {
	if err := update(ptr); err != nil {
		return nil, err
	}
	return ptr.(encoding.BinaryMarshaler).MarshalBinary()
}

func getBinary(ptr any, b []byte) error {
	return ptr.(encoding.BinaryUnmarshaler).UnmarshalBinary(b)
}

func putGob(ptr any) ([]byte, error) {
	if err := update(ptr); err != nil {
		return nil, err
	}
	return ptr.(gob.GobEncoder).GobEncode()
}

func getGob(ptr any, b []byte) error { return ptr.(gob.GobDecoder).GobDecode(b) }

// putValue stores a Value: element type (byte), dimensions and extents
// (uvarints), name of the type (uvarint length, bytes), then what WriteTo
// writes.
func putValue(ptr any) ([]byte, error) {
	v, err := Of(ptr)
	if err != nil {
		return nil, err
	}
	if err := update(v); err != nil {
		return nil, err
	}
	d := DescOf(v)
	if d.Dist != container.Local {
		return nil, fmt.Errorf("cptypes: %w: a %s value inside of a struct or map: add it by itself", ErrUnsupported, d.Dist)
	}
	var buf bytes.Buffer
	buf.WriteByte(byte(d.Elem))
	buf.Write(binary.AppendUvarint(nil, uint64(len(d.Shape))))
	for _, n := range d.Shape {
		buf.Write(binary.AppendUvarint(nil, uint64(n)))
	}
	buf.Write(binary.AppendUvarint(nil, uint64(len(d.Type))))
	buf.WriteString(d.Type)
	_, err = v.WriteTo(&buf)
	return buf.Bytes(), err
}

// cleared is a value of this package that gives up its memory before it is read in a
// struct, as a small slice does: another part may refer to the same.
type cleared interface{ clear() }

func getValue(ptr any, b []byte) error {
	v, err := Of(ptr)
	if err != nil {
		return err
	}
	c := cursor{b: b}
	stored := Desc{Elem: container.Elem(c.byte())}
	stored.Shape = make([]int64, c.count())
	for i := range stored.Shape {
		stored.Shape[i] = c.extent()
	}
	stored.Type = c.text()
	n, ok := volume(stored.Shape)
	size := int64(stored.Elem.Size())
	if c.bad || !ok || size > 0 && (n > int64(len(c.b))/size || n*size != int64(len(c.b))) {
		return fmt.Errorf("cptypes: %w: the description of a value does not fit its bytes", ErrCorrupt)
	}
	if r, ok := v.(Resizer); ok {
		if err := r.Resize(stored); err != nil {
			return err
		}
	} else if have := DescOf(v); have.Type != stored.Type {
		return mismatch(stored, have, "the type must be %s", stored.Type)
	}
	if m, ok := v.(cleared); ok {
		m.clear()
	}
	r := bytes.NewReader(c.b)
	if _, err := v.ReadFrom(r); err != nil {
		return err
	}
	if r.Len() > 0 {
		return fmt.Errorf("cptypes: %w: ReadFrom of %s has left %d bytes", ErrCorrupt, stored.Type, r.Len())
	}
	return nil
}
