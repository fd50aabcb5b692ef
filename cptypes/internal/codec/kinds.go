package codec

import (
	"fmt"
	"reflect"
	"time"

	"github.com/craft-go/craft/cptypes/internal/element"
)

var timeType = reflect.TypeFor[time.Time]()

var composite = map[reflect.Kind]storedKind{
	reflect.String: kindString, reflect.Pointer: kindPointer, reflect.Slice: kindSlice,
	reflect.Array: kindArray, reflect.Struct: kindStruct, reflect.Map: kindMap,
}

// hashable reports whether a key can be compared by what is stored of it.
func (of Customs) hashable(t reflect.Type) bool {
	if custom, err := of(t); t == timeType || custom != nil || err != nil {
		return false
	}
	switch t.Kind() {
	case reflect.Array:
		return of.hashable(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Tag.Get(TagKey) == "-" || f.Name != "_" && !of.hashable(f.Type) {
				return false
			}
		}
		return true
	}
	_, scalar := element.Of(t.Kind())
	return scalar || t.Kind() == reflect.String
}

// kind decides how a type is stored.
func (of Customs) kind(t reflect.Type, path string) (storedKind, *Custom, error) {
	if t == timeType {
		return kindTime, nil, nil
	}
	custom, err := of(t)
	if err != nil || custom != nil {
		return kindCustom, custom, err
	}
	if l, ok := element.Of(t.Kind()); ok {
		return storedKind(l.Elem), nil, nil
	}
	if kind, ok := composite[t.Kind()]; ok {
		return kind, nil, nil
	}
	return 0, nil, fmt.Errorf("cptypes: %w %v: %s cannot be stored: give it a concrete type, leave it out with the tag `craft:\"-\"`, or implement cptypes.Value",
		element.ErrUnsupported, t, path)
}
