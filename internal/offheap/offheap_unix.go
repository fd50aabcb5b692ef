//go:build unix

package offheap

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// MADV_HUGEPAGE and MADV_FREE, which package unix has on Linux only.
const (
	largePages = 14
	lazyFree   = 8
)

// Allocate takes memory from the operating system itself, so that the garbage
// collector does not count it and it can be given back at once. It is zero and
// takes up room only where it is touched.
func Allocate(n int) ([]byte, error) {
	p, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil && runtime.GOOS == "linux" {
		_ = unix.Madvise(p, largePages) // fewer faults when it is first touched
	}
	return p, err
}

// Idle lets the system take the pages of memory back when it is short of some. What is in them is
// lost; using them again costs nothing while it has not done so.
func Idle(p []byte) {
	if runtime.GOOS == "linux" {
		_ = unix.Madvise(p, lazyFree)
	}
}

// Release gives back what Allocate has returned.
func Release(p []byte) error { return unix.Munmap(p) }
