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

// stopRequests are the signals that were forwarded to the ranks, and what is done about those
// that ask for the end.
type stopRequests struct {
	forwarded map[int]forwarding
	heeded    bool // somebody has done what the present request asks for
	untold    bool // newcomers are to be told, because of that
	ending    endRequest
}

// requested is the signal that has asked for the end not long ago; 0: none has.
func (s *stopRequests) requested(now time.Time) (signal int, until time.Time) {
	for number, f := range s.forwarded {
		if over := f.told.Add(StopPatience); Stops(number) && now.Before(over) && over.After(until) {
			signal, until = number, over
		}
	}
	return signal, until
}

// excuses reports whether the end of a process at some time may be what it was asked for, and until when it is taken for that.
func (s *stopRequests) excuses(at time.Time) (asked bool, until time.Time) {
	signal, until := s.requested(at)
	if s.ending.asked() {
		if own := s.ending.patience(at); own.After(until) {
			until = own
		}
	}
	return signal != 0 || s.ending.asked(), until
}

// heed notes that somebody has done what a request asks for, if there is one: its process has
// ended, or its body has returned, and it waits for the others. Newcomers who were not told are then.
func (s *stopRequests) heed(now time.Time) {
	if !s.heeded && s.lately(now) {
		s.heeded, s.untold = true, true
	}
}

// ask returns the signals that newcomers are told of now, who have as much time for an answer as
// all others had. When those have had theirs, the request still holds if somebody has heeded it:
// else all ignore it.
func (s *stopRequests) ask(now time.Time, newcomers []*process) []int {
	var asked []int
	if len(newcomers) == 0 {
		return nil
	}
	for _, number := range slices.Sorted(maps.Keys(s.forwarded)) {
		f := s.forwarded[number]
		recent := func(p *process) bool { return p.started.Before(f.told.Add(StopPatience)) }
		if Stops(number) && now.Before(f.at.Add(StopHolds)) && (s.heeded || slices.ContainsFunc(newcomers, recent)) {
			s.forwarded[number] = forwarding{f.at, now}
			asked = append(asked, number)
		}
	}
	for _, p := range newcomers {
		p.asked = len(asked) > 0
	}
	return asked
}

// missed: the job was asked to end before p was started.
func (s *stopRequests) missed(p *process) bool {
	return s.any(func(f forwarding) bool { return p.started.After(f.at) })
}

// lately: the ranks were asked to end, and may be doing what that takes.
func (s *stopRequests) lately(now time.Time) bool {
	e := s.ending
	return e.asked() && now.Before(e.patience(e.at.Add(unreadPatience))) ||
		s.any(func(f forwarding) bool { return now.Before(f.told.Add(unreadPatience)) })
}

// ever: the job was asked to end at some time.
func (s *stopRequests) ever() bool {
	return s.ending.asked() || s.any(func(forwarding) bool { return true })
}

// any: a signal that asks for the end was forwarded at such a time.
func (s *stopRequests) any(at func(forwarding) bool) bool {
	for number, f := range s.forwarded {
		if Stops(number) && at(f) {
			return true
		}
	}
	return false
}
