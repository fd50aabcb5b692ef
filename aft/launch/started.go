package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/guard"
	"github.com/craft-go/craft/aft/internal/proc"
)

// process is what the system tells of one that a rank has started.
type process struct {
	parent, group   int
	name            string // its own, which is that of a script if it is one
	program         string // that it executes
	foreground      bool   // timeout with this option
	ignored, caught signalSet
}

// runners execute what they are told to, as a script does: what these start is the job's. What any
// other program starts is its own affair.
var runners = []string{ending, "sh", "bash", "dash", "ash", "busybox", "ksh", "ksh93", "mksh", "zsh", "csh", "tcsh", "fish", "timeout", "setsid", "time", "flock", "xargs", "nohup", "env", "nice"}

// ending stands for what a process has executed that the system has begun to clear away.
const ending = "(ending)"

// runs reports whether a process is no more than a part of a script.
func (p process) runs() bool { return slices.Contains(runners, p.program) }

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

// hears reports whether a process has code for a signal. A bash with a trap for its EXIT has some for
// all that would end it, and ends all the same.
func (p process) hears(s syscall.Signal) bool {
	return p.caught.has(s) && (control.Stops(int(s)) || !p.runs() || !p.caught.has(syscall.SIGVTALRM))
}

// outsiders are those out of the group of their rank that are to get a signal: what a script has
// started and has code for it, and at a signal that asks for the end also what a shell among these
// has started in its own group. All others live on, or end, as if there were no job: timeout would
// die of SIGUSR1, and so would what programs have put into groups of their own to be safe there
// (code for a signal is no proof: Go's runtime has some for all). That a shell catches a signal says
// nothing about those that it has started: it does so for its own ends, too. One comes behind the one
// that has started it: a shell is to have the signal before what it waits for can die of it.
//
// A program that has joined the job, 0: none, is told alone, as if the others were not there: a server
// that it needs to save, a shell that would clear up meanwhile, timeout, which would send it twice, a
// driver, which would kill it. Awaited are others that are at work because of the signal: those with
// code for it that get it from timeout, and those over the program, for what comes behind it.
func (f family) outsiders(s syscall.Signal, leader, program int) (pids, awaited []int) {
	over := f.above(program)
	for pid, p := range f {
		switch {
		case p.group == leader:
		case program != 0 && pid != program:
			if slices.Contains(over, pid) {
				awaited = append(awaited, pid)
			}
		case f.isPassed(pid, s, leader, program):
			if p.caught.has(s) {
				awaited = append(awaited, pid)
			}
		case pid == program || f.isTold(pid, s):
			pids = append(pids, pid)
		}
	}
	slices.SortFunc(pids, func(a, b int) int { return len(f.above(a)) - len(f.above(b)) })
	slices.Sort(awaited)
	return pids, awaited
}

// isTold reports whether an outsider is to get a signal where no program has joined the job.
func (f family) isTold(pid int, s syscall.Signal) bool {
	p, above := f[pid], f.above(pid)
	switch {
	case p.ignored.has(s), slices.ContainsFunc(above, func(by int) bool { return f[by].group != p.group && !f[by].runs() }):
		return false
	case p.hears(s):
		return true
	}
	shell := slices.IndexFunc(above, func(by int) bool { // which waits for it
		return !f[by].runs() || f[by].program != "timeout" && f[by].group == p.group && f[by].hears(s)
	})
	return control.Stops(int(s)) && shell >= 0 && f[above[shell]].runs()
}

// isPassed reports whether an outsider gets a signal from one that gets it.
func (f family) isPassed(pid int, s syscall.Signal, leader, program int) bool {
	return slices.ContainsFunc(f.above(pid), func(by int) bool {
		gets := f[by].group == leader || program == 0 && (f.isTold(by, s) || f.isPassed(by, s, leader, program))
		return gets && f[by].caught.has(s) && f.passesOn(by, pid)
	})
}

// passesOn reports whether a process that catches a signal sends it to one below it: timeout does
// to what it has started and to its group, if it has made that, a job within the job to all.
func (f family) passesOn(by, to int) bool {
	switch p := f[by]; {
	case p.name == "craft", p.name == guard.Name:
		return true
	case p.program == "timeout":
		return f[to].parent == by || f[to].group == p.group && !p.foreground
	}
	return false
}

// findStarted looks at what ranks have started, by the numbers of their processes. Orphans are what
// somebody has started who has ended, and what they have started: who adopts them is known.
func findStarted(ranks map[int]*rank, adopts int) (found map[*rank]family, orphans family) {
	stats := make(map[int]proc.Stat)
	proc.Running(func(pid int, stat proc.Stat) bool { stats[pid] = stat; return false })
	found, orphans = make(map[*rank]family), make(family)
	for pid, stat := range stats {
		r, orphan := rankOf(pid, stats, ranks, adopts)
		if orphan {
			orphans[pid] = describe(pid, stat)
		}
		if r == nil {
			continue
		}
		if found[r] == nil {
			found[r] = make(family)
		}
		found[r][pid] = describe(pid, stat)
	}
	return found, orphans
}

// rankOf is the rank that has started a process, or is it, or nil.
func rankOf(pid int, stats map[int]proc.Stat, ranks map[int]*rank, adopts int) (r *rank, orphan bool) {
	for range len(stats) { // what is read one after the other may make no tree
		stat, runs := stats[pid]
		if !runs || pid == os.Getpid() {
			break
		}
		if r := ranks[pid]; r != nil {
			return r, false
		}
		if r := ranks[stat.Group]; r != nil { // those in between have ended
			return r, false
		}
		if stat.Parent == adopts {
			return nil, true
		}
		pid = stat.Parent
	}
	return nil, false
}

// describe reads what else the system tells of a process.
func describe(pid int, stat proc.Stat) process {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may have ended
	field := func(name string) []byte {
		_, value, _ := bytes.Cut(append([]byte("\n"), status...), []byte("\n"+name+":\t"))
		value, _, _ = bytes.Cut(value, []byte("\n"))
		return value
	}
	set := func(name string) signalSet {
		bits, _ := strconv.ParseUint(string(field(name)), 16, 64)
		return signalSet(bits)
	}
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if errors.Is(err, fs.ErrNotExist) {
		program = ending
	}
	p := process{
		parent: stat.Parent, group: stat.Group, name: string(field("Name")),
		program: strings.TrimSuffix(filepath.Base(program), " (deleted)"),
		ignored: set("SigIgn"), caught: set("SigCgt"), // shells block all where they fork
	}
	if slices.Contains([]string{"coreutils", "busybox", "toybox"}, p.program) { // many in one
		p.program = p.name
	}
	if p.program == "timeout" {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		p.foreground = inForeground(strings.Split(string(args), "\x00"))
	}
	return p
}

// inForeground reports whether timeout leaves what it starts in its group, by its arguments.
func inForeground(args []string) bool {
	for i := 1; i < len(args) && strings.HasPrefix(args[i], "-"); i++ {
		arg := args[i]
		switch {
		case arg == "-f" || strings.HasPrefix(arg, "--f"):
			return true
		case slices.Contains([]string{"-k", "-s", "--kill-after", "--signal"}, arg):
			i++ // behind its value
		}
	}
	return false
}

// groupMembers are the processes of a group that run, its leader excluded, but for those that are
// idle, and what these have started of which nothing is known.
func groupMembers(id int, idle func(pid int) (yes, known bool)) []int {
	without := func(pid int, stat proc.Stat) bool {
		for stat.State != 0 && pid != id {
			if yes, known := idle(pid); known {
				return yes
			}
			pid = stat.Parent
			stat = proc.Of(pid)
		}
		return false
	}
	return proc.Running(func(pid int, stat proc.Stat) bool { return stat.Group == id && pid != id && !without(pid, stat) })
}

// watchStarted makes a process of a family known; nil: it has ended.
func watchStarted(pid int, p process) *joinedProgram {
	watched := watchProgram(pid)
	if watched != nil && proc.Of(pid).Group != p.group { // another process
		watched.close()
		return nil
	}
	return watched
}
