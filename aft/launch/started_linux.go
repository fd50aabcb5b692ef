package launch

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// findStarted looks at what ranks, by the numbers of their processes, have started, before a
// signal is passed on to them.
func findStarted(ranks map[int]*rank, s syscall.Signal) map[*rank]started {
	stats := make(map[int]procStat)
	running(func(pid int, stat procStat) bool { stats[pid] = stat; return false })
	found := make(map[*rank]started)
	catching := make(map[int]bool)
	for pid := range stats {
		r := ranks[rankOf(pid, stats, ranks)]
		if r == nil {
			continue
		}
		own, is := found[r]
		if !is {
			own.deaf = make(map[int]bool)
		}
		ignores, catches := attitude(pid, s)
		if ignores {
			own.deaf[pid] = true
		}
		catching[pid] = catches && passesOn(pid)
		found[r] = own
	}
	for r, own := range found {
		own.find(r, stats, catching)
		found[r] = own
	}
	return found
}

// find adds what is in other groups than the rank, but for what others pass the signal on to. That
// a shell catches it says nothing: it does so for its own ends, too.
func (s *started) find(r *rank, stats map[int]procStat, catching map[int]bool) {
	leader := r.cmd.Process.Pid
	ranks := map[int]*rank{leader: r}
	for pid, stat := range stats {
		if stat.group == leader || rankOf(pid, stats, ranks) == 0 {
			continue
		}
		inCharge := 0
		for above, n := pid, len(stats); above != leader && n > 0 && inCharge == 0; n-- {
			if above = stats[above].parent; catching[above] {
				inCharge = above
			}
		}
		if r.program != nil && pid == r.program.pid {
			s.passedOn = inCharge != 0 && stats[inCharge].group != leader
			continue
		}
		if inCharge != 0 {
			continue
		}
		p := watchProgram(pid)
		switch {
		case p == nil:
		case statOf(pid).group != stat.group: // another process
			_ = p.file.Close()
		default:
			s.strays = append(s.strays, p)
		}
	}
}

// passesOn reports whether a process that catches a signal passes it on to what it has started:
// timeout does, and a job within the job.
func passesOn(pid int) bool {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // it may have ended
	return strings.TrimSpace(string(name)) == "timeout" || strings.HasPrefix(string(name), "craft")
}

// rankOf is the process of a rank that has started another one, or is it, or 0.
func rankOf(pid int, stats map[int]procStat, ranks map[int]*rank) int {
	for range len(stats) { // what is read one after the other may make no tree
		stat, runs := stats[pid]
		switch {
		case ranks[pid] != nil:
			return pid
		case runs && ranks[stat.group] != nil: // those in between have ended
			return stat.group
		case !runs:
			return 0
		}
		pid = stat.parent
	}
	return 0
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

func (s started) close() {
	for _, p := range s.strays {
		_ = p.file.Close() // nothing was written
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
