package cptypes

import (
	"io"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/craft-go/craft/cptypes/internal/codec"
	"github.com/craft-go/craft/storage/container"
)

// structured is a struct, a map, or a slice, array or pointer with other things
// in it than the other types of this package store. It is stored with a
// description of itself.
type structured struct {
	codec   *codec.Codec
	p       unsafe.Pointer // keeps the variable alive
	updater Updater        // nil: nothing is to be fetched
	desc    Desc
	stored  Desc     // what Resize was told, for messages
	avoid   []region // what the next read must leave alone
}

var (
	_ Value     = (*structured)(nil)
	_ Describer = (*structured)(nil)
	_ Resizer   = (*structured)(nil)
	_ Updater   = (*structured)(nil)
)

// describedSuffix ends the names of types that are stored with a description.
const describedSuffix = " (described)"

// clipped is the name of a type, of one without a name as much as tells it to people.
func clipped(t reflect.Type) string {
	name := t.String()
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "") + "..."
	}
	return name
}

var codecs sync.Map // reflect.Type to *codec.Codec

// codecOf makes the codec of a type once.
func codecOf(t reflect.Type) (*codec.Codec, error) {
	if c, ok := codecs.Load(t); ok {
		return c.(*codec.Codec), nil
	}
	name := t.Name()
	if name == "" {
		name = "(" + clipped(t) + ")" // it begins the path of every field
	}
	made, err := codec.New(t, name, customOf)
	if err != nil {
		return nil, err
	}
	c, _ := codecs.LoadOrStore(t, made)
	return c.(*codec.Codec), nil
}

// newStructured takes a pointer to a variable of a type that no other Value
// takes.
func newStructured(ptr reflect.Value) (Value, error) {
	t := ptr.Type().Elem()
	c, err := codecOf(t)
	if err != nil {
		return nil, err
	}
	desc := Desc{Elem: container.Opaque, Type: clipped(t) + describedSuffix}
	return &structured{codec: c, p: ptr.UnsafePointer(), updater: updaterOf(ptr), desc: desc, stored: desc}, nil
}

func (v *structured) Update() error  { return update(v.updater) }
func (v *structured) Describe() Desc { return v.desc }

// Resize checks that the value is opaque, and local as this one. Whether its
// fields fit is found out by ReadFrom: their description is stored with them.
func (v *structured) Resize(stored Desc) error {
	v.stored = stored
	have := v.desc
	if strings.HasSuffix(stored.Type, describedSuffix) {
		have.Type = stored.Type // the program may have renamed it
	}
	if err := sameKind(stored, have); err != nil {
		return mismatch(stored, v.desc, "%s", err.(*MismatchError).Reason)
	}
	return nil
}

func (v *structured) WriteTo(w io.Writer) (int64, error) { return v.codec.Write(w, v.p) }

// ReadFrom reads all that r holds. Fields that are not stored keep what they
// hold, except in the elements of slices and maps, which are new.
func (v *structured) ReadFrom(r io.Reader) (int64, error) {
	n, err := v.codec.Read(r, v.p, v.avoid)
	v.avoid = nil
	if u, ok := err.(*codec.UnfitError); ok {
		err = mismatch(v.stored, v.desc, "%s", u.Reason)
	}
	return n, err
}
