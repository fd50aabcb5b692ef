package launch

import (
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/proc"
)

// sessionLimit bounds the wait for processes that were killed.
const sessionLimit = 2 * time.Second

// killSession kills all processes of a session and returns when they have ended;
// false: some have not. Call it while the number of its leader is not free again.
func killSession(id int) bool {
	limit := time.Now().Add(sessionLimit)
	for time.Now().Before(limit) {
		members := sessionMembers(id)
		if len(members) == 0 {
			return true
		}
		for _, pid := range members {
			killAndAwait(id, pid, limit)
		}
	}
	return false
}

// killAndAwait kills a process of a session and waits until it has ended or time
// is up.
func killAndAwait(session, pid int, limit time.Time) {
	p := watchProgram(pid)
	if p == nil {
		return // it has ended
	}
	defer p.close()
	if proc.Of(pid).Session != session {
		return // the number was used again
	}
	p.send(syscall.SIGKILL)
	_ = p.file.SetReadDeadline(limit)
	p.await()
}

// sessionMembers are the processes of a session that run, its leader excluded.
func sessionMembers(id int) []int {
	return proc.Running(func(pid int, s proc.Stat) bool { return s.Session == id && pid != id })
}
