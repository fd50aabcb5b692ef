package control

import (
	"slices"
	"syscall"
	"time"
)

// stopPatience is for how long after a signal that asks for the end the exit of a
// process is taken for its answer: as long as batch systems wait.
const stopPatience = 30 * time.Second

// askedDelay is how long the next replacement waits when one fails that was told to end.
const askedDelay = stopPatience / 6

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

// failedWhenAsked: p is a replacement that was told to end, and has failed, and so may the next
// one, while others save what they have. That is no reason to give up the job, as it would be
// otherwise, but they may need a communicator for it. If there are no others, it is a failure
// like any other.
func (r *Root) failedWhenAsked(now time.Time, p *process) bool {
	stop, until := r.stopRequested(now)
	return stop != 0 && p.announced && p.started.Add(stopPatience).After(until) &&
		slices.ContainsFunc(r.members(r.comms[r.world]), (*process).present)
}
