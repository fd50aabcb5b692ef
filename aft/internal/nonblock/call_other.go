//go:build !linux || race

package nonblock

import "syscall"

// Read is that of the system; the race detector takes it for what happens before a write of the same process.
func Read(fd int, p []byte) (int, error) { return syscall.Read(fd, p) }

// Write is that of the system.
func Write(fd int, p []byte) (int, error) { return syscall.Write(fd, p) }
