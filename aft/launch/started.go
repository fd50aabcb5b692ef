package launch

import (
	"slices"
	"syscall"
)

// process is what the system tells of one that a rank has started.
type process struct {
	parent, group   int
	name            string
	ignored, caught signalSet
}

// signalSet has bit n-1 for signal n, as in /proc.
type signalSet uint64

func setOf(s syscall.Signal) signalSet { return 1 << (s - 1) }

func (set signalSet) has(s syscall.Signal) bool { return set&setOf(s) != 0 }

// family are the processes that a rank has started, and its own one, by their numbers.
type family map[int]process

// above are the processes over one within the family: who has started it, and so on.
func (f family) above(pid int) (all []int) {
	for range len(f) { // what was read one after the other may make no tree
		pid = f[pid].parent
		if _, is := f[pid]; !is {
			break
		}
		all = append(all, pid)
	}
	return all
}

// outsiders are those out of the group of their rank that are to get a signal: who has code for
// it, with what it has started in its own group. All others live on, or end, as if there were no
// job: timeout would die of SIGUSR1, and so would what a program has put into a group of its own to
// be safe there. That a shell catches a signal says nothing about those that it has started: it
// does so for its own ends, too. One comes behind the one that has started it: a shell is to have
// the signal before what it waits for can die of it.
//
// The program is the process that has joined the job, 0: none. It gets the signal in any case, and
// what it has started is its own affair. Passed are those with code for the signal that get it from
// timeout.
func (f family) outsiders(s syscall.Signal, leader, program int) (pids, passed []int) {
	for pid, p := range f {
		above := f.above(pid)
		related := func(by int) bool { return f[by].group == p.group && (f[by].caught.has(s) || by == program) }
		switch {
		case p.group == leader:
		case pid != program && slices.Contains(above, program) && p.group != f[program].group:
		case slices.ContainsFunc(above, func(by int) bool { return f[by].caught.has(s) && f.passesOn(by, pid) }):
			if p.caught.has(s) || pid == program {
				passed = append(passed, pid)
			}
		case pid != program && (p.ignored.has(s) || !p.caught.has(s) && !slices.ContainsFunc(above, related)):
		default:
			pids = append(pids, pid)
		}
	}
	slices.SortFunc(pids, func(a, b int) int { return len(f.above(a)) - len(f.above(b)) })
	return pids, passed
}

// passesOn reports whether a process that catches a signal sends it to one below it: timeout does
// to what it has started and to its group, a job within the job to all.
func (f family) passesOn(by, to int) bool {
	switch f[by].name {
	case "craft", guardName:
		return true
	case "timeout":
		return f[to].parent == by || f[to].group == f[by].group
	}
	return false
}
