package placement_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets more garbage be than programs do: a third of the tests' time was spent on what
// their jobs of goroutines leave behind on a small heap.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
