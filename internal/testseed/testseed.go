// Package testseed is for tests that choose at random: their seed is printed, and
// CRAFT_TEST_SEED replays it.
package testseed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

const variable = "CRAFT_TEST_SEED"

// Rand is a random source.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Seed(t), 0))
}

// Seed is another one each time, unless it is given.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, given := Given(t)
	if !given {
		seed = rand.Uint64()
	}
	Print(t, seed)
	return seed
}

// Number is a variable that says how much a test does; otherwise, if it is not set.
func Number(t testing.TB, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%s: it is a number, 0 or more", name, text)
	}
	return n
}

// Given is the seed to replay, if there is any.
func Given(t testing.TB) (seed uint64, given bool) {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return 0, false
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: it is a number of 64 bits", variable, text)
	}
	return seed, true
}

// Print says how to replay a seed.
func Print(t testing.TB, seed uint64) {
	t.Helper()
	t.Logf("replay with %s=%d", variable, seed)
}
