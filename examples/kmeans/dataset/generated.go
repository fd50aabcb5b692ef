package dataset

import (
	"math"

	"github.com/craft-go/craft/examples/lanczos/random"
)

// Generated is points that are scattered around some places. Each depends on the seed
// and its number alone.
type Generated struct {
	Points int64
	Dim    int
	Places int
	Seed   uint64
}

// scatter is the standard deviation of a coordinate; places are in [0, 1).
const scatter = 0.08

// Size is that of the fields.
func (g Generated) Size() (points int64, dim int) { return g.Points, g.Dim }

// Fingerprint is nothing: ranks of a job are told the same.
func (Generated) Fingerprint() int64 { return 0 }

// Read makes points.
func (g Generated) Read(first int64, to []float64) error {
	seeds := [...]uint64{3 * g.Seed, 3*g.Seed + 1, 3*g.Seed + 2} // of places, choices and coordinates
	for i := first; len(to) > 0; i++ {
		place := int64(random.Uniform(seeds[1], i) * float64(g.Places))
		for j := range int64(g.Dim) {
			centre := random.Uniform(seeds[0], place*int64(g.Dim)+j)
			to[j] = centre + scatter*bell(seeds[2], i*int64(g.Dim)+j)
		}
		to = to[g.Dim:]
	}
	return nil
}

// bell is nearly normally distributed, with mean 0 and variance 1: a sum of four
// uniform numbers, which has the same bits on any machine.
func bell(seed uint64, index int64) float64 {
	sum := -2.0
	for k := range int64(4) {
		sum += random.Uniform(seed, 4*index+k)
	}
	return sum * math.Sqrt(3)
}
