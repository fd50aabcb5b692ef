package checkpoint

import (
	"os"
	"slices"
	"testing"
)

// sample is what one run of the tests takes of a large table: one of so many
// cases, chosen at random, and half of that under the race detector. If
// CRAFT_TEST_SECONDS is set it is all of them.
func sample[T any](t *testing.T, cases []T, oneOf int) []T {
	t.Helper()
	if os.Getenv("CRAFT_TEST_SECONDS") != "" {
		return cases
	}
	if raceEnabled {
		oneOf *= 2
	}
	if oneOf == 1 {
		return cases
	}
	chosen := seed(t).Perm(len(cases))[:(len(cases)+oneOf-1)/oneOf]
	slices.Sort(chosen)
	var some []T
	for _, i := range chosen {
		some = append(some, cases[i])
	}
	return some
}
