//go:build !race && !msan && !asan

package nonblock

import (
	"syscall"
	"unsafe"
)

// short is how many bytes are copied in a time for which nobody need take over.
const short = 64 << 10

// Read is that of the system, for a descriptor that does not block.
func Read(fd int, p []byte) (int, error) { return call(syscall.SYS_READ, fd, p, syscall.Read) }

// Write is that of the system, for a descriptor that does not block.
func Write(fd int, p []byte) (int, error) { return call(syscall.SYS_WRITE, fd, p, syscall.Write) }

func call(number uintptr, fd int, p []byte, long func(int, []byte) (int, error)) (int, error) {
	if len(p) > short || len(p) == 0 {
		return long(fd, p)
	}
	n, _, errno := syscall.RawSyscall(number, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
