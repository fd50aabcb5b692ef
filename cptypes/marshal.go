package cptypes

import (
	"encoding"
	"fmt"
	"io"
	"reflect"

	"github.com/craft-go/craft/storage/container"
)

// marshaler is a type that encoding/... packages would store, too.
type marshaler interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// marshaled stores a marshaler as opaque bytes.
type marshaled struct {
	v    marshaler
	desc Desc
}

var (
	_ Value     = (*marshaled)(nil)
	_ Describer = (*marshaled)(nil)
	_ Resizer   = (*marshaled)(nil)
	_ Updater   = (*marshaled)(nil)
)

func newMarshaled(v marshaler) Value {
	return &marshaled{v: v, desc: Desc{Elem: container.Opaque, Type: pointedTo(reflect.TypeOf(v)).String()}}
}

func (v *marshaled) Update() error            { return update(v.v) }
func (v *marshaled) Describe() Desc           { return v.desc }
func (v *marshaled) Resize(stored Desc) error { return sameKind(stored, v.desc) }

func (v *marshaled) WriteTo(w io.Writer) (int64, error) {
	b, err := v.v.MarshalBinary()
	if err != nil {
		return 0, fmt.Errorf("cptypes: marshal %s: %w", v.desc.Type, err)
	}
	n, err := w.Write(b)
	return int64(n), err
}

// ReadFrom gives the type all bytes that r holds.
func (v *marshaled) ReadFrom(r io.Reader) (int64, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return int64(len(b)), fmt.Errorf("cptypes: read %s: %w", v.desc.Type, err)
	}
	if err := v.v.UnmarshalBinary(b); err != nil {
		return int64(len(b)), fmt.Errorf("cptypes: unmarshal %s: %w", v.desc.Type, err)
	}
	return int64(len(b)), nil
}
