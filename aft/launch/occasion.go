package launch

import (
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
)

// occasion is a signal, or several that ask for the end, that comes to a script, and what that has
// started, as far as was seen then.
type occasion struct {
	first time.Time // StopPatience ago at most
	last  syscall.Signal
	seen  family                 // who ignores a signal since then is at work because of it
	told  map[int]*joinedProgram // of the signal, out of the group of the rank
}

func newOccasion(by syscall.Signal, seen family) *occasion {
	return &occasion{first: time.Now(), last: by, seen: seen, told: make(map[int]*joinedProgram)}
}

// occasions are by their signals, those that ask for the end by SIGTERM.
type occasions map[syscall.Signal]*occasion

// of is the present occasion of a signal, nil: there is none.
func (all occasions) of(s syscall.Signal) *occasion {
	if o := all[kindOf(s)]; o != nil && time.Since(o.first) < control.StopPatience {
		return o
	}
	return nil
}

func (all occasions) put(o *occasion) {
	if old := all[kindOf(o.last)]; old != nil {
		old.close()
	}
	all[kindOf(o.last)] = o
}

func kindOf(s syscall.Signal) syscall.Signal {
	if control.Stops(int(s)) {
		return syscall.SIGTERM
	}
	return s
}

// outsiders are those out of the group of a rank that are to get a signal.
type outsiders struct {
	all     []*joinedProgram
	program bool // is among them, or gets the signal from one of them
}

// noteStarted looks at scripts before the first of them gets its signal.
func (d *daemon) noteStarted(kills ...control.Kill) map[control.Kill]outsiders {
	scripts, of := make(map[int]*rank), kills[:0:0]
	for _, k := range kills {
		if r := d.ranks[k.Proc]; r != nil && r.cmd != nil && !r.dead && r.isScript() && endsScripts(syscall.Signal(k.Signal)) {
			scripts[r.cmd.Process.Pid], of = r, append(of, k)
		}
	}
	if len(scripts) == 0 {
		return nil
	}
	found, _ := findStarted(scripts, d.parent)
	told := make(map[control.Kill]outsiders)
	for _, k := range of {
		r := d.ranks[k.Proc]
		told[k] = r.note(found[r], syscall.Signal(k.Signal))
	}
	return told
}

// note takes down what a script has started when a signal comes.
func (r *rank) note(f family, by syscall.Signal) (told outsiders) {
	leader, program := r.cmd.Process.Pid, 0
	if r.program != nil && r.program.running() {
		program = r.program.pid
	}
	o := r.signals.of(by)
	if _, runs := f[leader]; !runs {
		if control.Stops(int(by)) {
			r.late = by
		}
		return r.left(by, program)
	}
	if o == nil {
		o = newOccasion(by, f)
		r.signals.put(o)
	}
	o.last = by
	pids, awaited := f.outsiders(by, leader, program)
	for _, pid := range awaited {
		o.tell(pid, f[pid])
	}
	told.program = slices.Contains(append(awaited, pids...), program)
	for _, pid := range pids {
		if p := o.tell(pid, f[pid]); p != nil {
			told.all = append(told.all, p)
		}
	}
	return told
}

// left are those that outlast waits for because of another signal than one that asks for the end: the
// program alone if it is among them.
func (r *rank) left(by syscall.Signal, program int) (told outsiders) {
	for s, o := range r.signals {
		if s == kindOf(by) || !control.Stops(int(by)) {
			continue
		}
		if p := o.told[program]; p != nil {
			return outsiders{[]*joinedProgram{p}, true}
		}
		told.all = slices.AppendSeq(told.all, maps.Values(o.told))
	}
	return told
}

// notePassed is note for a signal that somebody else has sent, to all processes or to the shell
// alone. Orphans, who may be of any rank, and what is out of the group, are of interest if it went
// to all: who has no code for it has died of it then, and knows nothing of it otherwise.
func (d *daemon) notePassed(r *rank, by syscall.Signal) (o, orphans *occasion) {
	leader := r.cmd.Process.Pid
	found, adopted := findStarted(map[int]*rank{leader: r}, d.parent)
	o, orphans = newOccasion(by, found[r]), newOccasion(by, nil)
	for pid, p := range found[r] {
		if p.group != leader {
			adopted[pid] = p
		}
	}
	for pid, p := range adopted {
		if p.caught.has(by) && !d.isProgramOfAnother(r, pid) { // which may wait for this rank
			orphans.tell(pid, p)
		}
	}
	r.signals.put(o)
	return o, orphans
}

func (d *daemon) isProgramOfAnother(r *rank, pid int) bool {
	for _, other := range d.ranks {
		if other != r && other.program != nil && other.program.pid == pid {
			return true
		}
	}
	return false
}

// tell has outlast wait for a process that gets the signal; nil: it has ended.
func (o *occasion) tell(pid int, p process) *joinedProgram {
	if old := o.told[pid]; old != nil && old.running() {
		return old
	} else if old != nil {
		old.close()
		delete(o.told, pid)
	}
	if watched := watchStarted(pid, p); watched != nil {
		o.told[pid] = watched
	}
	return o.told[pid]
}

func (o *occasion) close() {
	for _, p := range o.told {
		p.close()
	}
}

// running reports whether somebody who was told is.
func (o *occasion) running() bool {
	return o != nil && slices.ContainsFunc(slices.Collect(maps.Values(o.told)), (*joinedProgram).running)
}
