//go:build unix

package memory

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// largePages is MADV_HUGEPAGE, which package unix has on Linux only.
const largePages = 14

// mapped is memory of the operating system's, zero, which takes up room only where it is
// touched.
func mapped(n int) ([]byte, error) {
	p, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil && runtime.GOOS == "linux" {
		_ = unix.Madvise(p, largePages) // fewer faults when it is first touched
	}
	return p, err
}

func unmap(p []byte) { _ = unix.Munmap(p) }
