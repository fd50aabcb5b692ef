package control

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/demand"
)

// simCalls are the calls of a model of a program that stores versions, and computes otherwise: see TestRandomDemands.
type simCalls struct {
	point   *demand.Point
	lane    *demand.Lane // nil: its body does not run
	passed  int          // in this body
	pace    time.Duration
	meeting *demand.Meeting // that it is at, with all others
	ended   bool
}

// simUplink is the way to the decider.
type simUplink struct{ r *simRank }

func (u simUplink) Ask(d demand.Demand) { u.r.send(Message{Kind: KindAsk, Ask: &d}) }

func (u simUplink) Passed(p demand.Passed) {
	u.r.send(Message{Kind: KindPassed, Passed: &Passed{Passed: p}})
}

// never has a call return at once that would wait.
var never = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// hears is the runtime of a rank.
func (r *simRank) hears(m Message) {
	switch {
	case m.Kind == KindHold:
		r.point.Hold(r.s.now, *m.Hold)
	case m.Kind == KindMeet:
		r.point.Meet(*m.Meet)
	case m.Kind != KindMade:
		return
	case m.Made.New != nil && (m.Made.Op == OpRepair || m.Made.Op == OpSpawn):
		r.point.Renew(true)
	case m.Made.Op == "", m.Made.Op == OpEnd && m.Made.Outcome != nil && !m.Made.Outcome.Repair:
		r.point.Renew(false)
	}
	r.wake()
}

// compute is the body: some calls, at a pace of its own, and no messages but for what a version takes.
func (r *simRank) compute(pending bool) {
	switch {
	case pending:
		r.leaves()
		r.send(Message{Kind: KindRevoke, Revoke: &Revoke{Comm: r.world.ID, Derived: true}})
		r.join(r.world, Join{Op: OpEnd, Verdict: &driver.Verdict{Failure: true}, Step: int64(r.passed)})
		return
	case r.lane == nil:
		r.lane, r.passed = r.point.Join(demand.World), 0
	case r.passed >= r.s.target:
		r.leaves()
		r.join(r.world, Join{Op: OpEnd, Verdict: &driver.Verdict{}, Step: int64(r.passed)})
		return
	}
	m, err := r.lane.Call(never)
	if err != nil {
		r.blocked = true
		return
	}
	r.passed++
	r.s.called(r, m)
	switch {
	case m == nil:
		r.later()
	case m.Over:
		r.ends()
	default: // a version is stored together
		r.meeting = m
		r.join(r.world, Join{Op: OpAgree, Flags: 1})
	}
}

// stored is the end of what a meeting takes.
func (r *simRank) stored(m Made) {
	at := r.meeting
	r.meeting = nil
	switch {
	case m.Revoked || len(m.Failed) > 0:
		r.revoked[r.world.ID] = true // or it is known in a moment
		r.later()
		return
	case r.lane == nil: // it has begun anew meanwhile
		r.later()
		return
	}
	r.lane.Done(at)
	if r.world.Procs[0] == r.proc {
		at.Stored()
	}
	if at.Ends() == nil {
		r.later()
		return
	}
	r.ends()
}

func (r *simRank) leaves() {
	if r.lane != nil {
		r.lane.Leave()
		r.lane = nil
	}
}

// ends is the end that was asked for: by os.Exit, or from the body.
func (r *simRank) ends() {
	r.ended = true
	if r.s.random.IntN(3) == 0 {
		r.die(Exit{Proc: r.proc, Code: requeueCode, Step: NoStep, Zone: r.zone})
		return
	}
	r.leaves()
	r.join(r.world, Join{Op: OpEnd, Verdict: &driver.Verdict{Err: "ended"}, Step: int64(r.passed)})
}

// refused: the root repairs nothing any more.
func (r *simRank) refused(m Made) {
	if cause, _ := r.s.root.demands.decider.Ending(r.s.now); cause == demand.None || m.Op != OpRepair {
		r.s.fatal("process %d: %s", r.proc, m.Err)
	}
	r.die(Exit{Proc: r.proc, Code: 1, Step: NoStep, Zone: r.zone})
}

// called looks at a call: all ranks of a generation find the same at it.
func (s *sim) called(r *simRank, m *demand.Meeting) {
	if m != nil && m.Over {
		return
	}
	what := "nothing"
	if m != nil {
		var sources []string
		for _, d := range m.For {
			sources = append(sources, fmt.Sprint(d.Cause, " ", d.Source))
		}
		what = fmt.Sprint(slices.Compact(sources))
		s.logf("process %d: call %d of epoch %d, zone %d: %s", r.proc, r.lane.Calls(), r.epoch, r.zone, what)
	}
	key := fmt.Sprintf("call %d/%d/%d", r.epoch, r.zone, r.lane.Calls())
	if before, known := s.made[key]; known && before != what {
		s.fatal("process %d has %s at %s, others %s", r.proc, what, key, before)
	}
	s.made[key] = what
}

// takes is what programs do with signals.
func (s *sim) takes() []Take {
	if !s.calls {
		return nil
	}
	return []Take{{int(syscall.SIGUSR1), demand.TakesSave}, {int(syscall.SIGTERM), demand.TakesEnd}}
}
