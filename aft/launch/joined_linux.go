package launch

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// joinedProgram is the program of a rank that is a script: the process that has joined the
// job, which the daemon has not started itself. No number that is signalled can belong to
// another process.
type joinedProgram struct {
	pid  int
	file *os.File        // the process, for the system
	raw  syscall.RawConn // of file
	done chan struct{}   // closed when await has returned
}

// senderOf waits for the first message of a connection, leaves it there, and returns the
// number of the process that has sent it, whatever that is in a namespace of its own. 0: there
// is no message, or the system does not tell.
func senderOf(connection *os.File) int {
	raw, err := connection.SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	_ = raw.Read(func(fd uintptr) bool { // the connection may end before
		control := make([]byte, unix.CmsgSpace(unix.SizeofUcred))
		_, n, _, _, err := unix.Recvmsg(int(fd), make([]byte, 1), control, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if err == unix.EAGAIN || err == unix.EINTR {
			return false
		}
		messages, _ := unix.ParseSocketControlMessage(control[:n]) // none if they are not understood
		for i := range messages {
			if c, err := unix.ParseUnixCredentials(&messages[i]); err == nil {
				pid = int(c.Pid)
			}
		}
		return true
	})
	return pid
}

// watchProgram makes that process known; nil: it cannot be.
func watchProgram(pid int) *joinedProgram {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil
	}
	p := &joinedProgram{pid: pid, file: os.NewFile(uintptr(fd), "program"), done: make(chan struct{})}
	p.raw, _ = p.file.SyscallConn() // there is one for every file
	return p
}

// hasEnded reports whether a process has; not where a signal has interrupted the question.
func hasEnded(fd uintptr) bool {
	n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return n > 0
}

// await returns when the program has ended, or with false when close has given it up. It is
// called once.
func (p *joinedProgram) await() bool {
	defer close(p.done)
	return p.raw.Read(hasEnded) == nil
}

// signal sends a signal to the program if it is not in a process group that has got it.
func (p *joinedProgram) signal(group int, s syscall.Signal) {
	if own, err := unix.Getpgid(p.pid); err != nil || own != group {
		p.send(s)
	}
}

func (p *joinedProgram) send(s syscall.Signal) {
	_ = p.raw.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), s, nil, 0) }) // it may have ended
}

// running reports whether it has not ended.
func (p *joinedProgram) running() (runs bool) {
	_ = p.raw.Control(func(fd uintptr) { runs = !hasEnded(fd) })
	return runs
}

// kill ends the program, and returns when it has ended, or does not because the system keeps it.
func (p *joinedProgram) kill() {
	p.send(syscall.SIGKILL)
	late := time.AfterFunc(killLimit, func() { _ = p.file.SetReadDeadline(time.Unix(1, 0)) })
	defer late.Stop()
	<-p.done
	p.close()
}

func (p *joinedProgram) close() { _ = p.file.Close() } // nothing was written
