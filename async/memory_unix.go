//go:build unix

package async

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// largePages is MADV_HUGEPAGE, which package unix has on Linux only.
const largePages = 14

// allocate takes memory from the operating system itself, so that the garbage
// collector does not count it and it can be given back at once. It is zero and
// takes up room only where it is touched.
func allocate(n int) ([]byte, error) {
	p, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil && runtime.GOOS == "linux" {
		_ = unix.Madvise(p, largePages) // fewer faults when it is first touched
	}
	return p, err
}

func release(p []byte) error { return unix.Munmap(p) }
