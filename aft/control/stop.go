package control

import (
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// StopPatience is for how long after a signal that asks for the end the exit of a
// process is taken for its answer: as long as batch systems wait.
const StopPatience = 30 * time.Second

// askedDelay is how long the next replacement waits when one fails that was told to end.
const askedDelay = StopPatience / 6

// Stops reports whether a signal asks programs to end.
func Stops(number int) bool {
	switch syscall.Signal(number) {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		return true
	}
	return false
}

// forwarding is when a signal was forwarded.
type forwarding struct {
	at   time.Time // to all that were there
	told time.Time // the last time that somebody was told of it
	// late: a replacement was told of it because its predecessor had ended so.
	late map[comm.OriginalRank]bool
}

// stopRequested is the signal that has asked for the end not long ago; 0: none has.
func (r *Root) stopRequested(now time.Time) (signal int, until time.Time) {
	for s, f := range r.forwarded {
		if over := f.told.Add(StopPatience); Stops(s) && now.Before(over) && over.After(until) {
			signal, until = s, over
		}
	}
	return signal, until
}

// ask returns the signals that had asked for the end not long before newcomers were started,
// who are told of them now: they have as much time for an answer as all others had. Who
// replaces one that has ended because of a signal, and was waited for, comes later, and may be
// all that the others, who have saved, wait for. As they may as well ignore it, no rank hears of
// it twice in this way.
func (r *Root) ask(now time.Time, newcomers []*process) []int {
	var asked []int
	for _, s := range slices.Sorted(maps.Keys(r.forwarded)) {
		f := r.forwarded[s]
		due := func(p *process) bool {
			return p.started.Before(f.told.Add(StopPatience)) || p.answered == s && !f.late[p.original]
		}
		if Stops(s) && slices.ContainsFunc(newcomers, due) {
			r.forwarded[s] = f.again(now, newcomers)
			asked = append(asked, s)
		}
	}
	for _, p := range newcomers {
		p.asked, p.answered = len(asked) > 0, 0
	}
	return asked
}

// again is f when newcomers are told, too.
func (f forwarding) again(now time.Time, newcomers []*process) forwarding {
	late := maps.Clone(f.late)
	if late == nil {
		late = make(map[comm.OriginalRank]bool)
	}
	for _, p := range newcomers {
		late[p.original] = late[p.original] || p.answered != 0
	}
	return forwarding{f.at, now, late}
}

// everStopped: the job was asked to end at some time.
func (r *Root) everStopped() bool {
	for s := range r.forwarded {
		if Stops(s) {
			return true
		}
	}
	return false
}

// failedWhenAsked: p is a replacement that was told to end, and has failed, and so may the next
// one, while others save what they have. That is no reason to give up the job, as it would be
// otherwise, but they may need a communicator for it. If there are no others, or they had their
// time, it is a failure like any other.
func (r *Root) failedWhenAsked(now time.Time, p *process) bool {
	recent := func(s int) bool { return Stops(s) && now.Before(r.forwarded[s].at.Add(StopPatience)) }
	return p.asked && slices.ContainsFunc(slices.Collect(maps.Keys(r.forwarded)), recent) &&
		slices.ContainsFunc(r.members(r.comms[r.world]), (*process).present)
}
