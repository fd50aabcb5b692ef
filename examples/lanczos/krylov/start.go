package krylov

import "github.com/craft-go/craft/examples/lanczos/random"

// startSalt keeps the start vector apart from a disorder of the same seed.
const startSalt = 0x6c616e637a6f73

// startElement is element i of the start vector, in [-1, 1), not normalised.
func startElement(seed uint64, i int64) float64 {
	return 2*random.Uniform(seed^startSalt, i) - 1
}
