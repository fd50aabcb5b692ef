package proc

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Claim makes a pipe this process's own, among all that have inherited it. False: another one has it, until it
// ends or closes the pipe.
//
// The claim is a record lock on the pipe itself: such locks belong to processes, not to the
// descriptors that they share. Where pipes have none everybody may claim them.
func Claim(end *os.File) bool {
	err := lock(end, syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart})
	return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES)
}

// Claimant is the number, here, of the process that has claimed a pipe of which this is the other end. 0: nobody has, or
// the system does not tell.
func Claimant(end *os.File) int {
	held := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := lock(end, syscall.F_GETLK, &held); err != nil || held.Type == syscall.F_UNLCK {
		return 0
	}
	return max(0, int(held.Pid))
}

// Identity tells a pipe from others, to all that have inherited the same end. 0: the system does not.
func Identity(end *os.File) uint64 {
	info, err := end.Stat()
	if err != nil {
		return 0
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return is.Ino
}

func lock(file *os.File, command int, whole *syscall.Flock_t) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	if ctl := raw.Control(func(fd uintptr) { err = syscall.FcntlFlock(fd, command, whole) }); ctl != nil {
		return ctl
	}
	return err
}
