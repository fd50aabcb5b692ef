package checkpoint

import (
	"context"
	"sync"
	"time"

	"github.com/craft-go/craft/internal/demand"
)

// watcher looks at the demands of the job while the program computes: on rank 0 of a
// checkpoint that is nested in no other.
type watcher struct {
	cancel  context.CancelFunc // nil: it does not
	running sync.WaitGroup
	release func() // of the deadlines; nil: others watch them

	told   bool // of the end
	missed bool // it was said that the time to save is over
}

// begin starts it, once.
func (m *meetings) begin() {
	m.join()
	if m.watch.cancel != nil || !m.root() || m.line.parent != nil || m.point == nil {
		return
	}
	if !launched(m.core) && m.opt.point == nil {
		m.watch.release = ofProcess.use(m.log)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.watch.cancel = cancel
	changed, stop := m.point.Watch()
	m.watch.running.Go(func() {
		defer stop()
		for {
			timer := time.NewTimer(m.look(ctx, time.Now()))
			select {
			case <-changed:
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
			timer.Stop()
		}
	})
}

func (m *meetings) stopWatching() {
	if m.watch.cancel != nil {
		m.watch.cancel()
		m.watch.running.Wait()
		m.watch.cancel = nil
	}
	if m.watch.release != nil {
		m.watch.release()
		m.watch.release = nil
	}
}

const (
	lookAtLeast = 10 * time.Second
	lookAtMost  = 50 * time.Millisecond
)

// look does what time has made due, and returns how long nothing else is.
func (m *meetings) look(ctx context.Context, now time.Time) time.Duration {
	tellAsked(m.core, m.point)
	end, over := m.point.End()
	plan := m.point.Plan()
	switch {
	case over:
		return lookAtLeast
	case end != nil:
		return m.lookAtEnd(ctx, now, end)
	case plan == nil:
		return lookAtLeast
	}
	// The time that the end needs may be another one soon: it is looked at again halfway.
	left := plan.Remains(now) - m.planned()
	if left > lookAtMost {
		return min(lookAtLeast, max(left/2, lookAtMost))
	}
	d := plan.Demand
	d.Planned, d.Left = false, plan.Remains(now)
	m.point.Ask(d)
	return lookAtLeast
}

// planned is how long before a deadline the end is asked for. A version that is due anyhow may be on its way then, or begin
// before all ranks have heard of it: the time of one counts twice, unless it is a guess.
func (m *meetings) planned() time.Duration {
	n := m.needs()
	return (n.Sum()+n.Before)*5/4 + 500*time.Millisecond
}

// lookAtEnd tells of an end that was asked for, and when it comes too late.
func (m *meetings) lookAtEnd(ctx context.Context, now time.Time, end *demand.Demanded) time.Duration {
	left := end.Remains(now)
	if !m.watch.told {
		m.watch.told = true
		attrs := []any{"source", end.Source, "left", "no limit"}
		if left != demand.NoLimit {
			attrs[3] = left.Round(time.Millisecond).String()
		}
		m.log.Info("the job is to end: at the next call all ranks save", attrs...)
	}
	if left == demand.NoLimit || m.watch.missed {
		return lookAtLeast
	}
	if rest := untilMissed(m, now, left); rest > 0 {
		return min(lookAtLeast, max(rest, time.Millisecond))
	}
	why := "and not all ranks have come to a call of UpdateAndWrite"
	if m.tempo.Saving(now) > 0 {
		why = "and the last version is not stored yet: not all ranks have come to a call of UpdateAndWrite, or it takes longer than those before"
	}
	m.watch.missed = true
	m.log.Warn("the time to save is over, "+why+"; if the job is killed now, a restart begins with the iteration after the last version",
		"source", end.Source, "left", left.Round(time.Millisecond).String(), "restart_iteration", restartIteration(m), "longest_step", m.needs().Step.Round(time.Millisecond).String())
	recordMissed(ctx, m.up, end) // what the log says must not wait for a file system that hangs
	return lookAtLeast
}

// untilMissed is how long it is too early to say that the time to save is over, of which so much is left. Where this rank
// saves already it may still wait for others: that is not known before the version has taken as long as it should.
func untilMissed(m *meetings, now time.Time, left time.Duration) time.Duration {
	rest := left - m.tempo.Least()
	if saving := m.tempo.Saving(now); saving > 0 {
		n := m.needs()
		rest = max(rest, min(n.Cost*5/4+n.Skew+2*lookAtMost-saving, left-lookAtMost))
	}
	return rest
}

// restartIteration is the one with which a restart begins that goes on from what is stored now; "none": that has none.
func restartIteration(m *meetings) any {
	last, begun := int64(NoIteration), false
	if g := m.line.good.Load(); g != nil {
		last, begun = g.iteration, true
	}
	// One that is written in the background is complete before the program has asked for it.
	if f := m.line.flight.Load(); f != nil && f.ticket != nil && f.ticket.Ended() && f.ticket.Err() == nil && hasAtHome(m.core, f.id(), f.header.Size) {
		last, begun = f.header.Iteration, true
	}
	switch {
	case !begun:
		return 0
	case last == NoIteration:
		return "none"
	}
	return last + 1
}
