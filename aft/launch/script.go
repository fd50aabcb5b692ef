package launch

import (
	"os"
	"slices"
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

// started is what a script had started when a signal was passed on to it.
type started struct {
	deaf map[int]bool // who ignored it already: who does since then is at work because of it
	// strays are out of the group of the rank, but for those that others pass the signal on to. One
	// comes behind the one that has started it: a shell that catches the signal is to have it before
	// what it waits for can die of it.
	strays []*joinedProgram
	// program: it is among them, or one of them passes the signal on to it.
	program bool
}

// forget gives back what was found when a signal was passed on.
func (r *rank) forget(s syscall.Signal) {
	for _, p := range r.started[s].strays {
		if p != r.program {
			p.close()
		}
	}
	delete(r.started, s)
}

// noteStarted looks at all ranks before the first of them gets a signal, which may be repeated.
func (d *daemon) noteStarted(s syscall.Signal) {
	if !endsScripts(s) || time.Since(d.passed[s]) < control.StopPatience {
		return
	}
	scripts := make(map[int]*rank)
	for _, r := range d.ranks {
		if r.cmd != nil && !r.dead && r.isScript() {
			scripts[r.cmd.Process.Pid] = r
		}
	}
	if len(scripts) == 0 {
		return
	}
	d.passed[s] = time.Now()
	found := findStarted(scripts, s)
	for _, r := range scripts {
		r.forget(s)
		r.started[s] = found[r]
	}
}

// isScript reports whether the process of a rank is not known to be the program itself.
func (r *rank) isScript() bool { return !r.joined || r.program != nil }

// endsScripts reports whether a shell dies of a signal that what it has started may save at.
func endsScripts(s syscall.Signal) bool {
	return control.Stops(int(s)) || slices.Contains(signalsForRanks, os.Signal(s))
}

// outlast gives what a rank has started time to end, when the rank itself has died of a signal
// that was passed on. Mostly a shell has, and the program saves what it has, or what the
// script runs beside it and behind it does, unless it ignored the signal.
func (d *daemon) outlast(r *rank, by syscall.Signal) {
	d.mu.Lock()
	script, p, started := r.isScript(), r.program, r.started[by]
	d.mu.Unlock()
	if !script {
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
	for started.outside() || len(groupMembers(r.cmd.Process.Pid, started.deaf)) > 0 {
		select {
		case <-look.C:
		case <-limit.C:
			return
		}
	}
}
