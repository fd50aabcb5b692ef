package control

import (
	"maps"
	"slices"
	"syscall"
	"time"
)

// StopPatience is for how long after a signal that asks for the end the exit of a
// process is taken for its answer: as long as batch systems wait.
const StopPatience = 30 * time.Second

// StopHolds is how long after a signal that asks for the end those who are started may be told of
// it. A job that still runs then ignores it.
const StopHolds = 10 * StopPatience

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

// heed notes that somebody has done what a request asks for, if there is one: its process has
// ended, or its body has returned, and it waits for the others. Newcomers who were not told are now.
func (r *Root) heed(now time.Time) {
	if r.heeded || !r.askedLately(now) {
		return
	}
	r.heeded = true
	if r.world == 0 {
		return
	}
	world := r.comms[r.world]
	late := slices.DeleteFunc(r.members(world), func(p *process) bool {
		return !p.taking() || p.asked || !r.missed(p) || world.away[p.id]
	})
	for _, s := range r.ask(now, late) {
		for _, p := range late {
			r.send(p.node, Message{Kind: KindSignal, Signal: &Signal{Number: s, Procs: []Proc{p.id}}})
		}
	}
}

// ask returns the signals that newcomers are told of now, who have as much time for an answer as
// all others had. When those have had theirs, the request still holds if somebody has heeded it:
// else all ignore it.
func (r *Root) ask(now time.Time, newcomers []*process) []int {
	var asked []int
	if len(newcomers) == 0 {
		return nil
	}
	for _, s := range slices.Sorted(maps.Keys(r.forwarded)) {
		f := r.forwarded[s]
		recent := func(p *process) bool { return p.started.Before(f.told.Add(StopPatience)) }
		if Stops(s) && now.Before(f.at.Add(StopHolds)) && (r.heeded || slices.ContainsFunc(newcomers, recent)) {
			r.forwarded[s] = forwarding{f.at, now}
			asked = append(asked, s)
		}
	}
	for _, p := range newcomers {
		p.asked = len(asked) > 0
	}
	return asked
}

// missed: the job was asked to end before p was started.
func (r *Root) missed(p *process) bool {
	return r.wasAsked(func(f forwarding) bool { return p.started.After(f.at) })
}

// everStopped: the job was asked to end at some time.
func (r *Root) everStopped() bool {
	return r.wasAsked(func(forwarding) bool { return true })
}

// wasAsked: a signal that asks for the end was forwarded at such a time.
func (r *Root) wasAsked(at func(forwarding) bool) bool {
	for s, f := range r.forwarded {
		if Stops(s) && at(f) {
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
	recent := func(f forwarding) bool { return now.Before(f.at.Add(StopPatience)) }
	return p.asked && r.wasAsked(recent) && slices.ContainsFunc(r.members(r.comms[r.world]), (*process).present)
}
