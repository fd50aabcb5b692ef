// Package cptypestest is the suite that every checkpointable type passes, the
// built-in ones and those of users alike:
//
//	func TestGrid(t *testing.T) {
//		cptypestest.Run(t, cptypestest.Case[Grid]{
//			Fill:  func(g *Grid, rng *rand.Rand) { g.randomise(rng) },
//			Equal: func(a, b *Grid) bool { return a.equal(b) },
//		})
//	}
//
// It treats the type as a checkpoint does: Update, Describe, Size, then Spans
// or WriteTo; later, in another variable, Resize, then Spans or ReadFrom with a
// reader that ends where the value ends. A seed is logged; CRAFT_TEST_SEED
// repeats a run with it.
package cptypestest
