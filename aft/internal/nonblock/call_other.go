//go:build !linux || race || msan || asan

package nonblock

import "syscall"

// Read is that of the system, which race detector and sanitizers know of: for the first one all that was written by this
// process happens before.
func Read(fd int, p []byte) (int, error) { return syscall.Read(fd, p) }

// Write is that of the system.
func Write(fd int, p []byte) (int, error) { return syscall.Write(fd, p) }
