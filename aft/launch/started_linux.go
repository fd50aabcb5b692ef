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
)

// findStarted looks at what ranks have started, by the numbers of their processes. Orphans are what
// somebody has started who has ended, and what they have started: who adopts them is known.
func findStarted(ranks map[int]*rank, adopts int) (found map[*rank]family, orphans family) {
	stats := make(map[int]procStat)
	running(func(pid int, stat procStat) bool { stats[pid] = stat; return false })
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
func rankOf(pid int, stats map[int]procStat, ranks map[int]*rank, adopts int) (r *rank, orphan bool) {
	for range len(stats) { // what is read one after the other may make no tree
		stat, runs := stats[pid]
		if !runs || pid == os.Getpid() {
			break
		}
		if r := ranks[pid]; r != nil {
			return r, false
		}
		if r := ranks[stat.group]; r != nil { // those in between have ended
			return r, false
		}
		if stat.parent == adopts {
			return nil, true
		}
		pid = stat.parent
	}
	return nil, false
}

// describe reads what else the system tells of a process.
func describe(pid int, stat procStat) process {
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
		parent: stat.parent, group: stat.group, name: string(field("Name")),
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
	without := func(pid int, stat procStat) bool {
		for stat.state != 0 && pid != id {
			if yes, known := idle(pid); known {
				return yes
			}
			pid = stat.parent
			stat = statOf(pid)
		}
		return false
	}
	return running(func(pid int, stat procStat) bool { return stat.group == id && pid != id && !without(pid, stat) })
}

// watchStarted makes a process of a family known; nil: it has ended.
func watchStarted(pid int, p process) *joinedProgram {
	watched := watchProgram(pid)
	if watched != nil && statOf(pid).group != p.group { // another process
		watched.close()
		return nil
	}
	return watched
}
