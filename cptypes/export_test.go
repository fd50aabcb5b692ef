package cptypes

import (
	"reflect"
	"testing"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// ConvertAlways makes the rest of a test take the path of a machine with
// another byte order: no Spans, every element converted. Tests that use it must
// not run in parallel.
func ConvertAlways(t testing.TB) {
	before := element.SameOrder
	element.SameOrder = false
	codecs.Clear()
	t.Cleanup(func() {
		element.SameOrder = before
		codecs.Clear()
	})
}

// UnregisterAfter forgets the adapter of T at the end of the test.
func UnregisterAfter[T any](t testing.TB) {
	t.Cleanup(func() { adapters.Delete(reflect.TypeFor[*T]()) })
}
