package main

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/craft-go/craft/cptypes/cptypestest"
	"github.com/craft-go/craft/examples/md/domain"
)

// TestColumn: it passes the suite of all types, as a part that is everything, and as one between others.
func TestColumn(t *testing.T) {
	for _, atoms := range []*domain.Domain{{First: 0, Last: 20, Total: 20}, {First: 4, Last: 11, Total: 20}, {First: 7, Last: 7, Total: 20}} {
		cptypestest.Run(t, cptypestest.Case[[]float64]{
			Fill: func(v *[]float64, rng *rand.Rand) {
				*v = make([]float64, 3*(atoms.Last-atoms.First))
				for i := range *v {
					(*v)[i] = rng.NormFloat64()
				}
			},
			Equal: func(a, b *[]float64) bool { return slices.Equal(*a, *b) },
			Value: func(v *[]float64) any { return &column[float64]{v, 3, atoms} },
		})
	}
}
