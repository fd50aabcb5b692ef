package launch

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// table is what the system tells of all processes.
type table map[int]procStat

// above are the processes over one: who has started it, and so on, as far as they run.
func (t table) above(pid int) (all []int) {
	for range len(t) { // what is read one after the other may make no tree
		if pid = t[pid].parent; t[pid].state == 0 {
			break
		}
		all = append(all, pid)
	}
	return all
}

// findStarted looks at what ranks, by the numbers of their processes, have started, before a
// signal is passed on to them.
func findStarted(ranks map[int]*rank, s syscall.Signal) map[*rank]started {
	t := make(table)
	running(func(pid int, stat procStat) bool { t[pid] = stat; return false })
	below := make(map[*rank][]int)
	for pid := range t {
		if r := t.rankOf(pid, ranks); r != nil {
			below[r] = append(below[r], pid)
		}
	}
	found := make(map[*rank]started)
	for r, pids := range below {
		found[r] = t.look(r, pids, s)
	}
	return found
}

// rankOf is the rank that has started a process, or is it, or nil.
func (t table) rankOf(pid int, ranks map[int]*rank) *rank {
	for _, p := range append([]int{pid}, t.above(pid)...) {
		if r := ranks[p]; r != nil {
			return r
		}
		if r := ranks[t[p].group]; r != nil { // those in between have ended
			return r
		}
	}
	return nil
}

// look finds out what the processes of a rank will do about a signal. That a shell catches it
// says nothing about those that it has started: it does so for its own ends, too.
func (t table) look(r *rank, pids []int, s syscall.Signal) started {
	own, catching := started{deaf: make(map[int]bool)}, make(map[int]bool)
	for _, pid := range pids {
		ignores, catches := attitude(pid, s)
		if ignores {
			own.deaf[pid] = true
		}
		catching[pid] = catches
	}
	slices.SortFunc(pids, func(a, b int) int { return len(t.above(a)) - len(t.above(b)) })
	leader := r.cmd.Process.Pid
	for _, pid := range pids {
		isProgram := r.program != nil && pid == r.program.pid
		passed := slices.ContainsFunc(t.above(pid), func(by int) bool { return catching[by] && t.passesOn(by, pid) })
		own.program = own.program || isProgram && t[pid].group != leader
		switch {
		case t[pid].group == leader, passed:
		case isProgram:
			own.strays = append(own.strays, r.program)
		default:
			if p := watchProgram(pid); p != nil && statOf(pid).group == t[pid].group {
				own.strays = append(own.strays, p)
			} else if p != nil {
				p.close() // another process
			}
		}
	}
	return own
}

// passesOn reports whether a process that catches a signal sends it to one below it: timeout does
// to what it has started and to its group, a job within the job to all.
func (t table) passesOn(by, to int) bool {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", by)) // it may have ended
	switch strings.TrimSpace(string(name)) {
	case "craft", guardName:
		return true
	case "timeout":
		return t[to].parent == by || t[to].group == t[by].group
	}
	return false
}

// groupMembers are the processes of a group that run, its leader excluded, and some with what
// they have started.
func groupMembers(id int, except map[int]bool) []int {
	excepted := func(pid int, stat procStat) bool {
		for ; stat.group == id && pid != id; pid, stat = stat.parent, statOf(stat.parent) {
			if except[pid] {
				return true
			}
		}
		return false
	}
	return running(func(pid int, stat procStat) bool {
		return stat.group == id && pid != id && !excepted(pid, stat)
	})
}

// outside reports whether a process that a rank has started in another group is still at work.
func (s started) outside() bool {
	return slices.ContainsFunc(s.strays, func(p *joinedProgram) bool { return !s.deaf[p.pid] && !p.ended() })
}

// pass sends a signal to what a rank has started in other groups.
func (s started) pass(by syscall.Signal) {
	for _, p := range s.strays {
		p.send(by)
	}
}

// attitude reports whether a process ignores a signal, as those do in the background of a script
// if it comes from the keyboard, and whether it has code for it.
func attitude(pid int, s syscall.Signal) (ignores, catches bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false, false // it has just ended
	}
	in := func(field string) bool {
		_, mask, _ := strings.Cut(string(status), "\n"+field+":\t")
		mask, _, _ = strings.Cut(mask, "\n")
		bits, _ := strconv.ParseUint(mask, 16, 64)
		return bits&(1<<(s-1)) != 0
	}
	return in("SigIgn"), in("SigCgt")
}
