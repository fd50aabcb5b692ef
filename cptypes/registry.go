package cptypes

import (
	"fmt"
	"reflect"
	"sync"
)

// adapters maps a pointer type to its func(any) Value.
var adapters sync.Map

// Register makes Of (and so Checkpoint.Add) accept a *T: adapt wraps it in a
// Value. It is called once per type, before the first Of; a second call for the
// same type, or one for a type that is a Value itself, is an error that matches
// ErrRegistered. An adapter goes before everything else that is known about the
// type. Register may be called concurrently.
func Register[T any](adapt func(*T) Value) error {
	t := reflect.TypeFor[*T]()
	if adapt == nil {
		return fmt.Errorf("cptypes: register %v: %w: the adapter is nil", t.Elem(), ErrNil)
	}
	if storesItself(t.Elem()) {
		return fmt.Errorf("cptypes: register %v: %w: %v is a Value", t.Elem(), ErrRegistered, t)
	}
	erased := func(v any) Value { return adapt(v.(*T)) }
	if _, taken := adapters.LoadOrStore(t, erased); taken {
		return fmt.Errorf("cptypes: register %v: %w: it has one already", t.Elem(), ErrRegistered)
	}
	return nil
}

func adapterOf(t reflect.Type) (func(any) Value, bool) {
	f, ok := adapters.Load(t)
	if !ok {
		return nil, false
	}
	return f.(func(any) Value), true
}

func adapted(v any, adapt func(any) Value) (Value, error) {
	switch out := adapt(v).(type) {
	case nil:
		return nil, fmt.Errorf("cptypes: %w: the adapter registered for %T returned nil", ErrNil, v)
	case *invalid:
		return nil, out.err
	default:
		return out, nil
	}
}
