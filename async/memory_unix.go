//go:build unix

package async

import "golang.org/x/sys/unix"

// allocate takes memory from the operating system itself, so that the garbage
// collector does not count it and it can be given back at once. It is zero and
// takes up room only where it is touched.
func allocate(n int) ([]byte, error) {
	p, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil {
		advise(p)
	}
	return p, err
}

func release(p []byte) error { return unix.Munmap(p) }
