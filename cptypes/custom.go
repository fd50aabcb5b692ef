package cptypes

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"fmt"
	"reflect"

	"github.com/craft-go/craft/cptypes/internal/codec"
	"github.com/craft-go/craft/storage/container"
)

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

// customOf is how t is stored in structs and maps if it has code of its own, else nil.
func customOf(t reflect.Type) (*codec.Custom, error) {
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
		return &codec.Custom{Name: "value " + t.String(), Put: putValue, Get: getValue, Refers: true}, nil
	case ptr.Implements(valueType) && declares(t, "WriteTo", "ReadFrom"):
		if err := checkAbilities(ptr); err != nil {
			return nil, err
		}
		return &codec.Custom{Name: "value " + t.String(), Put: putValue, Get: getValue, Refers: ptr.Implements(spannerType) || ptr.Implements(placedType)}, nil
	case ptr.Implements(marshalsType) && declares(t, "MarshalBinary", "UnmarshalBinary"):
		return &codec.Custom{Name: "binary " + t.String(), Put: updated(encoding.BinaryMarshaler.MarshalBinary), Get: getBinary}, nil
	case ptr.Implements(gobType) && declares(t, "GobEncode", "GobDecode"):
		return &codec.Custom{Name: "gob " + t.String(), Put: updated(gob.GobEncoder.GobEncode), Get: getGob}, nil
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

// updated is a way to store a variable, of which the data is fetched first.
func updated[T any](put func(T) ([]byte, error)) func(ptr any) ([]byte, error) {
	return func(ptr any) ([]byte, error) {
		if err := update(ptr); err != nil {
			return nil, err
		}
		return put(ptr.(T))
	}
}

func getBinary(ptr any, b []byte, _ *codec.Memory) error {
	return ptr.(encoding.BinaryUnmarshaler).UnmarshalBinary(b)
}

func getGob(ptr any, b []byte, _ *codec.Memory) error { return ptr.(gob.GobDecoder).GobDecode(b) }

// putValue stores a Value: its description, then what WriteTo writes.
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
	buf := bytes.NewBuffer(codec.AppendDesc(nil, d))
	_, err = v.WriteTo(buf)
	return buf.Bytes(), err
}

// cleared is a value of this package that gives up its memory before it is read in a
// struct, as a small slice does: another part may refer to the same.
type cleared interface{ clear() }

// getValue reads what putValue stored, a matrix into memory of its own if it may not read it
// where it is.
func getValue(ptr any, b []byte, memory *codec.Memory) error {
	if m, ok := gonumOf(ptr).(matrix); ok {
		separate, err := separates(m, ptr, b, memory)
		if err != nil {
			return err
		}
		if separate.IsValid() {
			reflect.ValueOf(ptr).Elem().Set(separate)
			return nil
		}
	}
	return getInPlace(ptr, b)
}

func getInPlace(ptr any, b []byte) error {
	v, err := Of(ptr)
	if err != nil {
		return err
	}
	stored, data, ok := codec.CutDesc(b)
	n, fits := volume(stored.Shape)
	size := int64(stored.Elem.Size())
	if !ok || !fits || size > 0 && (n > int64(len(data))/size || n*size != int64(len(data))) {
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
	r := bytes.NewReader(data)
	if _, err := v.ReadFrom(r); err != nil {
		return err
	}
	if r.Len() > 0 {
		return fmt.Errorf("cptypes: %w: ReadFrom of %s has left %d bytes", ErrCorrupt, stored.Type, r.Len())
	}
	return nil
}
