package launch

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rankAttributes: a process group of its own, so that a signal reaches what the
// rank has started too; killed when the daemon ends.
func rankAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// daemonAttributes: a session of its own, by which all that it has started can be
// found. It ends when its standard input does; when the root ends while it is
// stopped, it is to go on for that.
func daemonAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}
}

// agentAttributes: an agent may hang before it reads anything, and is deaf to other signals.
func agentAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns when the process has ended, and leaves it to be reaped: its
// number still belongs to it. stopped is told when a signal stops the process, and
// when it goes on; by is the signal that has ended it, 0 if it has exited. False: this
// cannot be done.
func awaitExit(pid int, stopped func(bool)) (by syscall.Signal, ok bool) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WCONTINUED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, false
		case info.Code == childStopped:
			_ = unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOHANG, nil) // it may go on already
			stopped(true)
		case info.Code == childContinued:
			_ = unix.Waitid(unix.P_PID, pid, nil, unix.WCONTINUED|unix.WNOHANG, nil) // or be stopped again
			stopped(false)
		case info.Code == childExited:
			return 0, true
		default:
			return syscall.Signal(statusOf(&info)), true
		}
	}
}

// statusOf is si_status, which is behind si_pid and si_uid. What is behind the first three
// numbers is aligned as pointers are.
func statusOf(info *unix.Siginfo) int32 {
	const word, pointer = unsafe.Sizeof(int32(0)), unsafe.Sizeof(uintptr(0))
	offset := (3*word+pointer-1)/pointer*pointer + 2*word
	return *(*int32)(unsafe.Add(unsafe.Pointer(info), offset))
}

// What Waitid tells of a process: CLD_EXITED, CLD_STOPPED, CLD_CONTINUED.
const (
	childExited    = 1
	childStopped   = 5
	childContinued = 6
)

// openProcess returns a file that can be read when the process has ended.
func openProcess(pid int) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "program"), nil
}

// readable reports whether something can be read from a file, or it has ended; of a process, that it has. Not where a signal
// has interrupted the question.
func readable(fd uintptr) bool {
	n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return n > 0
}

func sendSignal(fd uintptr, s syscall.Signal) { _ = unix.PidfdSendSignal(int(fd), s, nil, 0) }

// holdFile keeps a file that may be executed, also when it is not to be read.
func holdFile(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func dup2(from, to int) error { return unix.Dup3(from, to, 0) }
