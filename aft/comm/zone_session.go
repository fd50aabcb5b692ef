package comm

import (
	"context"
	"fmt"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// ZoneSession is what begins and ends zones and their attempts: what package aft, and tests of
// that, need of a session. Programs do not.
type ZoneSession struct{ s *Session }

// Zone is the part of the session that is for package aft.
func (s *Session) Zone() ZoneSession { return ZoneSession{s} }

// Enter numbers a zone, from 0; it reports false while another one runs.
func (z ZoneSession) Enter() (number int, alone bool) {
	if !z.s.running.CompareAndSwap(false, true) {
		return 0, false
	}
	z.s.begun++
	return z.s.begun - 1, true
}

// Leave ends the zone that was entered last.
func (z ZoneSession) Leave() { z.s.running.Store(false) }

// Running says that the body of a zone runs, and with which policy it recovers; nil: none runs.
func (z ZoneSession) Running(p *Policy) {
	if m, ok := z.s.engine.(driver.ZoneMarker); ok {
		m.InZone(p)
	}
}

// errNoJob is returned for what a session without a job has nobody to agree on with.
var errNoJob = fmt.Errorf("%w: its session belongs to no job", ErrUnsupported)

// Revoke revokes the communicator of the place and all that were made of it, at all
// processes. Any goroutine may call it, but not during Repair. Without a job there is none.
func (z ZoneSession) Revoke() {
	if z.s.engine != nil {
		z.s.engine.Revoke()
	}
}

// Hooks calls what was registered with OnRepair, the latest first, and forgets it.
func (z ZoneSession) Hooks(ctx context.Context) error { return z.s.hooks.Call(ctx) }

// End is collective: the body has returned, with the given verdict. All processes that
// are alive get the same outcome.
func (z ZoneSession) End(ctx context.Context, v Verdict) (Outcome, error) {
	if z.s.engine == nil {
		return Outcome{}, errNoJob
	}
	k := z.s.Place().Comm.begin(ctx, "end of the zone", 0)
	out, err := z.s.engine.End(ctx, v)
	err = typed(err)
	_ = k.end(err) // the zone names it
	if err == nil {
		if !out.Repair {
			z.s.change = nil
			z.s.step.Store(0)
		}
		z.s.look()
	}
	return Outcome{Repair: out.Repair, Err: out.Err, ErrRank: Rank(out.ErrRank)}, err
}

// Repair is collective over the processes that are alive: it replaces the communicator of
// the place by one without failed processes.
func (z ZoneSession) Repair(ctx context.Context, p Policy) (Change, error) {
	if z.s.engine == nil {
		return Change{}, errNoJob
	}
	k := z.s.Place().Comm.begin(ctx, "repair", 0)
	change, err := z.s.engine.Repair(ctx, p)
	err = typed(err)
	if _ = k.end(err); err != nil {
		return Change{}, err
	}
	z.s.change = changeOf(change)
	z.s.look()
	return *z.s.change, nil
}

// CountRecovery adds to the time that Recovered tells.
func (z ZoneSession) CountRecovery(d time.Duration) { z.s.repairing.Add(int64(d)) }

// Evict ends this process, whose body is in the way of a roll-back, so that it is replaced. It does not
// return, unless the ranks are not processes: then the job ends with an error.
func (z ZoneSession) Evict(why error) {
	if q, ok := z.s.engine.(driver.Quitter); ok {
		leaves, late := z.s.bequests()
		if late {
			why = fmt.Errorf("%w; what it keeps in memory could not be handed over within %v", why, bequestLimit)
		}
		q.Evict(why, leaves)
	}
}

// Quit ends this process at once, as a failure would. It does not return, unless the ranks
// are not processes.
func (z ZoneSession) Quit(why string) {
	if q, ok := z.s.engine.(driver.Quitter); ok {
		q.Quit(why)
	}
}
