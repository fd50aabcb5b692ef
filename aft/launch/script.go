package launch

import (
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/guard"
	"github.com/craft-go/craft/aft/internal/proc"
)

// A rank may be a script that starts the program. Its daemon has started the script, and waits
// for that; the program it knows by the first message.

// meet waits for the first message of a rank, and returns the process that has sent it if that
// is not the rank's own one and can be followed.
func (d *daemon) meet(r *rank) *joinedProgram {
	r.control.await()
	pid := proc.Claimant(r.control.file)
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

// isScript reports whether the process of a rank is not known to be the program itself.
func (r *rank) isScript() bool { return !r.joined || r.program != nil }

// endsScripts reports whether a shell dies of a signal that what it has started may save at.
func endsScripts(s syscall.Signal) bool {
	return control.Stops(int(s)) || slices.Contains(guard.ForRanks, os.Signal(s))
}

// behindProgram is for how long at least what a script runs behind its program has time.
const behindProgram = control.StopPatience / 3

// toAll is how long it takes at most until a signal that is sent to all processes has reached all.
const toAll = time.Second

// outlast gives what a rank has started time to end, when the rank itself has died of a signal, or
// has exited after one that asks for the end: the program saves what it has, or what the script
// runs beside it and behind it does, unless it ignored the signal.
func (d *daemon) outlast(r *rank, by syscall.Signal) {
	began, exited := time.Now(), by == 0
	if exited {
		by = d.because(r)
	}
	asked := control.Stops(int(by))
	d.mu.Lock()
	if !r.isScript() || !endsScripts(by) {
		d.mu.Unlock()
		return
	}
	o, orphans, p := r.signals.of(by), (*occasion)(nil), r.program
	if o == nil {
		o, orphans = d.notePassed(r, by)
		defer orphans.close()
	}
	told := slices.Collect(maps.Values(o.told))
	d.mu.Unlock()

	if !d.awaitProgram(r, p, asked) {
		return
	}
	limit := time.After(max(time.Until(began.Add(control.StopPatience)), behindProgram))
	look := time.Tick(50 * time.Millisecond)
	for {
		alone := orphans != nil && time.Since(began) > toAll && !d.hasGot(by) // it went to the shell
		left := groupMembers(r.cmd.Process.Pid, func(pid int) (idle, known bool) {
			p, known := o.seen[pid]
			if !known {
				return exited, exited // what it has begun since it leaves behind
			}
			return p.ignored.has(by) || alone && !asked && !p.caught.has(by), true
		})
		if len(left) == 0 && !slices.ContainsFunc(told, (*joinedProgram).running) && (alone || !orphans.running()) {
			return
		}
		select {
		case <-look:
		case <-limit:
			return
		}
	}
}

// awaitProgram waits until the program of a script that has ended has, too, if there is one. It has
// StopPatience for that from when it last waited for other ranks: when it was asked to end, one may
// be replaced for which it waits.
func (d *daemon) awaitProgram(r *rank, p *joinedProgram, asked bool) bool {
	if p == nil {
		return true
	}
	began := time.Now()
	look := time.Tick(control.StopPatience / 30)
	for last := began; time.Since(last) < control.StopPatience; {
		select {
		case <-p.done:
			return true
		case <-look:
		}
		d.mu.Lock()
		if asked && time.Since(began) < control.StopHolds && d.machine.Waits(r.proc) {
			last = time.Now()
		}
		d.mu.Unlock()
	}
	return false
}

// because is the signal for which a script has exited that its daemon has passed on, or that came
// to all processes: to the daemon perhaps a moment later. 0: none is known.
func (d *daemon) because(r *rank) syscall.Signal {
	for began := time.Now(); ; {
		d.mu.Lock()
		by, p := d.asked(r), r.program
		d.mu.Unlock()
		if by != 0 || p == nil || time.Since(began) > toAll {
			return by
		}
		select {
		case <-p.done:
			return 0
		case <-time.After(toAll / 20):
		}
	}
}

// asked is a signal that has asked a script, or this process, for the end. The lock is held.
func (d *daemon) asked(r *rank) (by syscall.Signal) {
	if o := r.signals.of(syscall.SIGTERM); o != nil {
		return o.last
	}
	by = r.late
	for s, at := range d.got {
		if control.Stops(int(s)) && time.Since(at) < control.StopPatience {
			by = s
		}
	}
	return by
}

// hasGot reports whether a signal has come to this process, too, a short time ago.
func (d *daemon) hasGot(s syscall.Signal) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ever := d.got[s]
	return ever && time.Since(at) < control.StopPatience
}
