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

// watchProgram makes that process known; nil: it cannot be.
func watchProgram(pid int) *joinedProgram {
	file, err := openProcess(pid)
	if err != nil {
		return nil
	}
	p := &joinedProgram{pid: pid, file: file, done: make(chan struct{})}
	p.raw, _ = file.SyscallConn() // there is one for every file
	return p
}

// await returns when the program has ended, or with false when close has given it up. It is
// called once.
func (p *joinedProgram) await() bool {
	defer close(p.done)
	return p.raw.Read(readable) == nil
}

// signal sends a signal to the program if it is not in a process group that has got it.
func (p *joinedProgram) signal(group int, s syscall.Signal) {
	if own, err := unix.Getpgid(p.pid); err != nil || own != group {
		p.send(s)
	}
}

func (p *joinedProgram) send(s syscall.Signal) {
	_ = p.raw.Control(func(fd uintptr) { sendSignal(fd, s) }) // it may have ended
}

// running reports whether it has not ended.
func (p *joinedProgram) running() (runs bool) {
	_ = p.raw.Control(func(fd uintptr) { runs = !readable(fd) })
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
