package launch

import (
	"sync"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/control"
)

// A rank may be a script that starts the program. Its daemon has started the script, and waits
// for that; the program it knows by the first message.

// meet waits for the first message of a rank, and returns the process that has sent it if that
// is not the rank's own one and can be followed.
func (d *daemon) meet(r *rank) *joinedProgram {
	pid := senderOf(r.control.file)
	d.mu.Lock()
	defer d.mu.Unlock()
	r.joined = pid != 0
	if pid != 0 && pid != r.cmd.Process.Pid {
		r.program = watchProgram(pid)
	}
	return r.program
}

// follow waits for the end of a program, which its script may outlive. The connection was the
// program's: another one that the script starts is to see that it has ended.
func (d *daemon) follow(r *rank, p *joinedProgram, messages *sync.WaitGroup) {
	if !p.await() {
		return
	}
	r.control.finish()
	messages.Wait()
	r.box.close(time.Now())
	d.do(func(m *control.Daemon, now time.Time) []control.DaemonAction { return m.Outlived(now, r.proc) })
}

// outlast gives what a rank has started time to end, when the rank itself has died of a signal
// that asks for the end. Mostly a shell has, and the program saves what it has, or what the
// script runs beside it and behind it does, unless it ignores the signal.
func (d *daemon) outlast(r *rank, by syscall.Signal) {
	d.mu.Lock()
	joined, p := r.joined, r.program
	d.mu.Unlock()
	if joined && p == nil { // it was the program itself
		return
	}
	limit := time.NewTimer(control.StopPatience)
	defer limit.Stop()
	if p != nil { // it may be in another group
		select {
		case <-p.done:
		case <-limit.C:
			return
		}
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for len(groupMembers(r.cmd.Process.Pid, by)) > 0 {
		select {
		case <-look.C:
		case <-limit.C:
			return
		}
	}
}
