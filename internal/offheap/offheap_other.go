//go:build !unix

package offheap

// Allocate returns zeroed memory.
func Allocate(n int) ([]byte, error) { return make([]byte, n), nil }

// Release gives back what Allocate has returned.
func Release([]byte) error { return nil }

// Idle lets the system take the pages of memory back when it is short of some.
func Idle([]byte) {}
