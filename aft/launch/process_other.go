//go:build !linux

package launch

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Without a signal at the end of the parent, ranks end when the connection does.

func rankAttributes() *syscall.SysProcAttr   { return &syscall.SysProcAttr{Setpgid: true} }
func daemonAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
func agentAttributes() *syscall.SysProcAttr  { return &syscall.SysProcAttr{Setsid: true} }

// awaitExit cannot wait without reaping here.
func awaitExit(int, func(bool)) (by syscall.Signal, ok bool) { return 0, false }

// Nothing tells which process has claimed the connection, so there is no joinedProgram.

func openProcess(int) (*os.File, error)  { return nil, errors.ErrUnsupported }
func readable(uintptr) bool              { return true }
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
