package embedded

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
)

// errSecond is what Join returns when another program of the rank was there before.
var errSecond = fmt.Errorf("%w: another program of this rank has joined the job before this one, and a rank can be one program only: give each program with a zone a craft run of its own (or make them one program with several zones)", ErrControl)

// claim makes the connection to the daemon this process's own. The programs that a script starts
// inherit the same one, and who reads from it takes what is meant for the other. False: another
// program has it, and goes on undisturbed if nothing is read.
//
// The claim is a record lock on the socket itself: such locks belong to processes, not to the
// descriptors that they share, and end with the process or when it closes the connection. Where
// sockets have none everybody may read, as is noticed by what is read.
func claim(conn net.Conn) bool {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return true
	}
	whole := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	_ = raw.Control(func(fd uintptr) { err = syscall.FcntlFlock(fd, syscall.F_SETLK, &whole) }) // it is open
	return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES)
}
