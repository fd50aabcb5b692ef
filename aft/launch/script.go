package launch

import (
	"maps"
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

// started is what a script has started, as far as was seen when signals came.
type started struct {
	first   time.Time              // of these signals, StopPatience ago at most
	seen    signalSet              // the signals
	asked   syscall.Signal         // to end, the last one of those
	ignored map[int]signalSet      // by each process then: who ignores a signal since is at work because of it
	told    map[int]*joinedProgram // out of the group of the rank
}

// outsiders are those out of the group of a rank that are to get a signal.
type outsiders struct {
	all     []*joinedProgram
	program bool // is among them, or gets the signal from one of them
}

// noteStarted looks at scripts before the first of them gets its signal.
func (d *daemon) noteStarted(kills ...control.Kill) map[control.Kill]outsiders {
	scripts := make(map[int]*rank)
	for _, k := range kills {
		if r := d.ranks[k.Proc]; r != nil && r.cmd != nil && !r.dead && r.isScript() && endsScripts(syscall.Signal(k.Signal)) {
			scripts[r.cmd.Process.Pid] = r
		}
	}
	if len(scripts) == 0 {
		return nil
	}
	found, _ := findStarted(scripts, d.parent)
	told := make(map[control.Kill]outsiders)
	for _, k := range kills {
		if r := d.ranks[k.Proc]; found[r] != nil && endsScripts(syscall.Signal(k.Signal)) {
			told[k] = r.note(found[r], syscall.Signal(k.Signal))
		}
	}
	return told
}

// note takes down what a script has started when a signal comes.
func (r *rank) note(f family, by syscall.Signal) outsiders {
	if !r.started.fresh() {
		r.started.first, r.started.seen, r.started.asked = time.Now(), 0, 0
		r.started.ignored = make(map[int]signalSet)
		for pid, p := range f {
			r.started.ignored[pid] = p.ignored
		}
	}
	r.started.forgetEnded()
	r.started.seen |= setOf(by)
	if control.Stops(int(by)) {
		r.started.asked = by
	}
	program := 0
	if r.program != nil {
		program = r.program.pid
	}
	pids, passed := f.outsiders(by, r.cmd.Process.Pid, program)
	for _, pid := range passed {
		r.started.tell(pid, f[pid])
	}
	told := outsiders{program: slices.Contains(append(passed, pids...), program)}
	for _, pid := range pids {
		if p := r.started.tell(pid, f[pid]); p != nil {
			told.all = append(told.all, p)
		}
	}
	return told
}

// noteCatching has outlast wait for those that have code for a signal which somebody else has sent,
// to all processes or to the shell alone: others have died of it, or know nothing of it. One whose
// parent has ended may be of any rank.
func (d *daemon) noteCatching(r *rank, by syscall.Signal) {
	r.started.forgetEnded()
	leader := r.cmd.Process.Pid
	found, orphans := findStarted(map[int]*rank{leader: r}, d.parent)
	r.started.ignored = make(map[int]signalSet)
	for pid, p := range found[r] {
		r.started.ignored[pid] = ^p.caught
	}
	maps.Copy(orphans, found[r])
	for pid, p := range orphans {
		if p.group != leader && p.caught.has(by) {
			r.started.tell(pid, p)
		}
	}
}

// fresh reports whether something was noted that is still of use.
func (s *started) fresh() bool {
	return !s.first.IsZero() && time.Since(s.first) < control.StopPatience
}

// tell has outlast wait for a process that gets the signal; nil: it has ended.
func (s *started) tell(pid int, p process) *joinedProgram {
	if s.told[pid] == nil {
		watched := watchStarted(pid, p)
		if watched == nil {
			return nil
		}
		if s.told == nil {
			s.told = make(map[int]*joinedProgram)
		}
		s.told[pid] = watched
	}
	return s.told[pid]
}

func (s *started) forgetEnded() {
	for pid, p := range s.told {
		if !p.running() {
			p.close()
			delete(s.told, pid)
		}
	}
}

func (s *started) close() {
	for _, p := range s.told {
		p.close()
	}
	s.told = nil
}

// isScript reports whether the process of a rank is not known to be the program itself.
func (r *rank) isScript() bool { return !r.joined || r.program != nil }

// endsScripts reports whether a shell dies of a signal that what it has started may save at.
func endsScripts(s syscall.Signal) bool {
	return control.Stops(int(s)) || slices.Contains(signalsForRanks, os.Signal(s))
}

// outlast gives what a rank has started time to end, when the rank itself has died of a signal, or
// has exited after one that asks for the end: the program saves what it has, or what the script
// runs beside it and behind it does, unless it ignored the signal.
func (d *daemon) outlast(r *rank, by syscall.Signal) {
	d.mu.Lock()
	if by == 0 && r.started.fresh() {
		by = r.started.asked
	}
	wait, p := r.isScript() && endsScripts(by), r.program
	if wait && !(r.started.fresh() && r.started.seen.has(by)) {
		d.noteCatching(r, by)
	}
	told, ignored := slices.Collect(maps.Values(r.started.told)), r.started.ignored
	d.mu.Unlock()
	if !wait {
		return
	}
	deaf := func(pid int) (yes, known bool) {
		set, known := ignored[pid]
		return set.has(by), known
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
	for slices.ContainsFunc(told, (*joinedProgram).running) || len(groupMembers(r.cmd.Process.Pid, deaf)) > 0 {
		select {
		case <-look.C:
		case <-limit.C:
			return
		}
	}
}
