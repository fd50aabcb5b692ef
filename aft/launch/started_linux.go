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
	for pid, stat := range stats {
		r := ranks[rankOf(pid, stats, ranks)]
		if r == nil || pid == r.cmd.Process.Pid {
			continue
		}
		own, is := found[r]
		if !is {
			own.deaf = make(map[int]bool)
		}
		if ignores(pid, s) {
			own.deaf[pid] = true
		}
		if stat.group != r.cmd.Process.Pid && (r.program == nil || stat.group != stats[r.program.pid].group) {
			if p := watchProgram(pid); p != nil && statOf(pid).group == stat.group {
				own.strays = append(own.strays, p)
			} else if p != nil {
				_ = p.file.Close() // another process
			}
		}
		found[r] = own
	}
	return found
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

// ignores reports whether a process ignores a signal, as those do in the background of a script if
// it comes from the keyboard.
func ignores(pid int, s syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false // it has just ended
	}
	_, mask, _ := strings.Cut(string(status), "\nSigIgn:\t")
	mask, _, _ = strings.Cut(mask, "\n")
	ignored, _ := strconv.ParseUint(mask, 16, 64)
	return ignored&(1<<(s-1)) != 0
}
