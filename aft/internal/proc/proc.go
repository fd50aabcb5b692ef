// Package proc says what the system knows of processes: /proc, and who has claimed a pipe. It imports little: package guard needs it before
// other packages are initialised.
package proc

import (
	"bytes"
	"os"
	"strconv"
)

// Stat is what /proc tells of a process.
type Stat struct {
	State                  byte // 0: it is gone
	Parent, Group, Session int
}

// Running are the processes that match and have not ended; none where /proc is not that of Linux.
func Running(match func(pid int, s Stat) bool) []int {
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
		if s := Of(pid); s.State != 0 && s.State != 'Z' && s.State != 'X' && match(pid, s) {
			found = append(found, pid)
		}
	}
	return found
}

// Of reads what the system tells of a process.
func Of(pid int) Stat {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}
	}
	// pid (name) state ppid pgrp session ...; the name may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 {
		return Stat{}
	}
	s := Stat{State: fields[0][0]}
	s.Parent, _ = strconv.Atoi(string(fields[1]))
	s.Group, _ = strconv.Atoi(string(fields[2]))
	s.Session, _ = strconv.Atoi(string(fields[3]))
	return s
}
