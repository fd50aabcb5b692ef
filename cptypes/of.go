package cptypes

import (
	"fmt"
	"reflect"

	"github.com/craft-go/craft/cptypes/internal/element"
)

const supported = "a pointer to a number, bool, string or time, or to a struct, a map, a slice or an array of such things; " +
	"a type of your own: implement cptypes.Value, wrap it in one that does, or call cptypes.Register " +
	"(encoding.BinaryMarshaler with BinaryUnmarshaler will do, too)"

// Of returns the Value for what a program gives to Checkpoint.Add. In this
// order:
//
//   - v is a Value: itself;
//   - v is a *T with an adapter for T (see Register): what the adapter makes;
//   - v points to a time, a slice of times, or a vector or matrix of gonum;
//   - v is an encoding.BinaryMarshaler and BinaryUnmarshaler: opaque bytes;
//   - v points to one of the types in the package's table.
//
// An embedded Value or marshaler does not make a struct one, as it would be all
// that is stored: a struct that does not declare both methods itself (WriteTo and
// ReadFrom, MarshalBinary and UnmarshalBinary) is stored field by field. A Value may
// have them from an embedded interface: it decorates what is in that. It may not have
// Describe, Size, Spans, Resize or ReadBox from an embedded type.
//
// The memory that v points to belongs to the Value from then on: it is read
// and written whenever the Value's methods are called. Errors match ErrNil or
// ErrUnsupported, or are those of a constructor such as Partitioned.
func Of(v any) (Value, error) {
	if v == nil {
		return nil, fmt.Errorf("cptypes: %w: allowed is %s", ErrNil, supported)
	}
	if bad, ok := v.(*invalid); ok {
		return nil, bad.err
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && rv.IsNil() {
		return nil, fmt.Errorf("cptypes: %w: the %T is nil; give the address of a variable", ErrNil, v)
	}
	own, given := v.(Value)
	if given && storesItself(pointedTo(rv.Type())) {
		if err := checkWhole(rv); err != nil {
			return nil, err
		}
		return own, nil
	}
	if adapt, ok := adapterOf(rv.Type()); ok {
		return adapted(v, adapt)
	}
	if known, err := foreign(v); known != nil || err != nil {
		return known, err
	}
	if m, ok := v.(marshaler); ok && rv.Kind() == reflect.Pointer && declares(rv.Type().Elem(), "MarshalBinary", "UnmarshalBinary") {
		return newMarshaled(m), nil
	}
	made, err := builtin(rv)
	if err != nil && given {
		err = fmt.Errorf("%w (it has WriteTo or ReadFrom from what is embedded in it, which would store that alone: a type that declares both is stored by them)", err)
	}
	return made, err
}

func builtin(rv reflect.Value) (Value, error) {
	if rv.Kind() != reflect.Pointer {
		return nil, notPointer(rv.Type())
	}
	t := rv.Type().Elem()
	if l, shape, n, ok := layoutOf(t); ok {
		return newFixed(rv, l, shape, n), nil
	}
	switch t.Kind() {
	case reflect.String:
		return newText(rv), nil
	case reflect.Array:
		if t.Elem().Kind() == reflect.String {
			return newTexts(rv), nil
		}
	case reflect.Slice:
		return builtinSlice(rv, t.Elem())
	}
	return structuredOr(rv)
}

func builtinSlice(rv reflect.Value, entry reflect.Type) (Value, error) {
	if l, inner, per, ok := layoutOf(entry); ok {
		return newSlice(rv, l, inner, per), nil
	}
	switch entry.Kind() {
	case reflect.String:
		return newTexts(rv), nil
	case reflect.Slice:
		if l, ok := element.Of(entry.Elem().Kind()); ok {
			return newRows(rv, l), nil
		}
	}
	return structuredOr(rv)
}

// structuredOr is for what is left: scalars and what is made of them alone is stored in
// other ways.
func structuredOr(rv reflect.Value) (Value, error) {
	switch rv.Type().Elem().Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array, reflect.Pointer:
		return newStructured(rv)
	}
	return nil, unsupported(rv.Type())
}

func unsupported(t reflect.Type) error {
	return fmt.Errorf("cptypes: %w %v: allowed is %s", ErrUnsupported, t, supported)
}

// notPointer tells a forgotten & from a type that no & would help.
func notPointer(t reflect.Type) error {
	pointer := reflect.PointerTo(t)
	_, known := adapterOf(pointer)
	known = known || storesItself(t) || pointer.Implements(marshalsType) && declares(t, "MarshalBinary", "UnmarshalBinary")
	if !known {
		address := reflect.New(t)
		value, err := foreign(address.Interface())
		if err != nil {
			return err
		}
		if value == nil {
			if _, err := builtin(address); err != nil {
				return unsupported(t)
			}
		}
	}
	return fmt.Errorf("cptypes: %w %v: give its address, a %v, so that it can be read back", ErrUnsupported, t, pointer)
}
