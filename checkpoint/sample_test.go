package checkpoint

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/craft-go/craft/internal/testseed"
)

// sample is what one run of the tests takes of a large table: one of so many
// cases, chosen at random, half of that under the race detector, and an eighth
// there with -short. If CRAFT_TEST_SECONDS is set it is all of them.
func sample[T any](t *testing.T, cases []T, oneOf int) []T {
	t.Helper()
	if oneOf*underRace() == 1 || os.Getenv("CRAFT_TEST_SECONDS") != "" {
		return cases
	}
	return choose(testseed.Rand(t), cases, oneOf)
}

// choose is sample with the random numbers of the test.
func choose[T any](rng *rand.Rand, cases []T, oneOf int) []T {
	oneOf *= underRace()
	if oneOf == 1 || os.Getenv("CRAFT_TEST_SECONDS") != "" {
		return cases
	}
	chosen := rng.Perm(len(cases))[:(len(cases)+oneOf-1)/oneOf]
	slices.Sort(chosen)
	var some []T
	for _, i := range chosen {
		some = append(some, cases[i])
	}
	return some
}

// ofData skips, with -race -short, a test of what is in files and values: either nothing runs
// at the same time in it, or only what does in the tests of many others.
func ofData(t *testing.T) {
	t.Helper()
	if raceEnabled && testing.Short() {
		t.Skip("a matter of data: not with -race -short")
	}
}

// orUnderRace is what to give sample: under the race detector, which takes less anyway, no test is
// to take so little that nothing is lost in it.
func orUnderRace(oneOf, there int) int {
	if raceEnabled {
		return there
	}
	return oneOf
}

// underRace is how many times less is tried under the race detector.
func underRace() int {
	switch {
	case !raceEnabled:
		return 1
	case testing.Short():
		return 8
	}
	return 2
}
