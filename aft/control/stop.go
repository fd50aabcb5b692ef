package control

import (
	"syscall"
	"time"
)

// stopPatience is for how long after a signal that asks for the end the exit of a
// process is taken for its answer: as long as batch systems wait.
const stopPatience = 30 * time.Second

// stops: the signal asks programs to end.
func stops(number int) bool {
	switch syscall.Signal(number) {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		return true
	}
	return false
}

// stopRequested is the signal that has asked for the end not long ago; 0: none has.
func (r *Root) stopRequested(now time.Time) (signal int, until time.Time) {
	for s, at := range r.forwarded {
		if over := at.Add(stopPatience); stops(s) && now.Before(over) && over.After(until) {
			signal, until = s, over
		}
	}
	return signal, until
}

// everStopped: the job was asked to end at some time.
func (r *Root) everStopped() bool {
	for s := range r.forwarded {
		if stops(s) {
			return true
		}
	}
	return false
}
