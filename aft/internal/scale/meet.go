package scale

import (
	"fmt"
	"runtime"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/demand"
)

// MeetHead is the head of a table with rows of MeetRow.
const MeetHead = `| nodes | ranks of each | all know the call, ms | messages to the root | from it | MB to it | MB from it | its processor, ms |
| --- | --- | --- | --- | --- | --- | --- | --- |`

// MeetRow is a row of a table, about how ranks come to save, or to end, at the same call.
func MeetRow(c Config, r Result) string {
	return fmt.Sprintf("| %s | %s | %s | %s |", count(c.Nodes), count(c.Ranks), milliseconds(r.Time), r.root())
}

// meeting is a demand under way.
type meeting struct {
	met  int // ranks that know the call
	last time.Time
}

// Meet simulates a job that is asked for a version: Time is until the last rank knows the call.
func Meet(c Config) (r Result, err error) {
	runtime.LockOSThread() // whose time is taken
	defer runtime.UnlockOSThread()
	s, err := newSim(c)
	if err != nil {
		return r, err
	}
	s.root.event(s.now, 0, s.root.machine.Begin)
	if err := s.until(func() bool { return s.allHave(1) && s.begun == s.size() }); err != nil {
		return r, err
	}
	calm := s.now.Add(quiet)
	s.put(calm, func() {})
	if err := s.until(func() bool { return !s.now.Before(calm) }); err != nil {
		return r, err
	}
	s.reset()
	began := s.now
	s.root.event(s.now, 0, func(now time.Time) []control.Action {
		return s.root.machine.Ask(now, demand.Demand{Source: "somebody", Left: demand.NoLimit})
	})
	if err := s.until(func() bool { return s.meeting.met == s.size() }); err != nil {
		return r, err
	}
	r = s.result(began, 1)
	r.Time = s.meeting.last.Sub(began)
	return r, nil
}

// pass answers a Hold: each rank has passed another number of calls.
func (r *rank) pass(at time.Time, h demand.Hold) {
	calls := []demand.Position{{Lane: demand.World, Calls: 1000 + uint64(r.id)%100, Open: true}}
	r.send(at, control.Message{Kind: control.KindPassed, Passed: &control.Passed{Passed: demand.Passed{Serial: h.Serial, Lanes: calls}}})
}

// know notes that a rank knows the call.
func (s *sim) know(at time.Time) {
	s.meeting.met++
	s.meeting.last = later(s.meeting.last, at)
}
