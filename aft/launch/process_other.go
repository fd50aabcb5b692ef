//go:build !linux

package launch

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Without a signal at the end of the parent, ranks end when descriptor 3 does.

func rankAttributes() *syscall.SysProcAttr   { return &syscall.SysProcAttr{Setpgid: true} }
func daemonAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
func agentAttributes() *syscall.SysProcAttr  { return &syscall.SysProcAttr{Setsid: true} }

// awaitExit cannot wait without reaping here.
func awaitExit(int, func(bool)) (by syscall.Signal, ok bool) { return 0, false }

// socketPair returns two connected sockets; the first one is polled.
func socketPair() (mine, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		_, _ = unix.Close(fds[0]), unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "rank"), os.NewFile(uintptr(fds[1]), "daemon"), nil
}

// Nothing tells which process has sent a message, so there is no joinedProgram.

func senderOf(*os.File) int              { return 0 }
func openProcess(int) (*os.File, error)  { return nil, errors.ErrUnsupported }
func hasEnded(uintptr) bool              { return true }
func sendSignal(uintptr, syscall.Signal) {}

// leftNothing cannot be known here.
func leftNothing(int) bool { return false }

// killSession cannot look for processes here: they notice the end of their
// daemon themselves.
func killSession(int) bool { return false }

// holdFile cannot keep a file here so that it can be executed.
func holdFile(string) (*os.File, error) { return nil, nil }

// fenceNode kills a daemon, or the agent that leads to it.
func (n *node) fenceNode() { _ = syscall.Kill(-n.cmd.Process.Pid, syscall.SIGKILL) } // it may have ended

func dup2(from, to int) error { return unix.Dup2(from, to) }
