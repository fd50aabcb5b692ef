package launch

import (
	"bytes"
	"os"
	"strconv"
)

// procStat is what /proc tells of a process.
type procStat struct {
	state                  byte // 0: it is gone
	parent, group, session int
}

// running are the processes that match and have not ended; none where /proc is not that of Linux.
func running(match func(pid int, s procStat) bool) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }() // it was only read
	names, _ := dir.Readdirnames(-1)
	var found []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s := statOf(pid); s.state != 0 && s.state != 'Z' && s.state != 'X' && match(pid, s) {
			found = append(found, pid)
		}
	}
	return found
}

// statOf reads what the system tells of a process.
func statOf(pid int) procStat {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}
	}
	// pid (name) state ppid pgrp session ...; the name may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 {
		return procStat{}
	}
	s := procStat{state: fields[0][0]}
	s.parent, _ = strconv.Atoi(string(fields[1]))
	s.group, _ = strconv.Atoi(string(fields[2]))
	s.session, _ = strconv.Atoi(string(fields[3]))
	return s
}
