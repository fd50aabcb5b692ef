package cptypes

import "testing"

// ConvertAlways makes the rest of a test take the path of a machine with
// another byte order: no Spans, every element converted. Tests that use it must
// not run in parallel.
func ConvertAlways(t testing.TB) {
	before := sameOrder
	sameOrder = false
	t.Cleanup(func() { sameOrder = before })
}
