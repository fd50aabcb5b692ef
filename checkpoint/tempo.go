package checkpoint

import (
	"time"

	"github.com/craft-go/craft/checkpoint/internal/tempo"
	"github.com/craft-go/craft/internal/demand"
)

// called is when the present call of UpdateAndWrite began, where that is known: to look at a clock is most of what one costs that
// is not due.
func called(m *meetings) time.Time {
	if at, is := m.tempo.Called(); is && m.lane != nil && !m.line.unreachable() {
		return at
	}
	return time.Now()
}

// measured takes what a version has cost, when it is settled.
func (m *meetings) measured(f *flight, err error) {
	if err != nil {
		return
	}
	m.tempo.Stored(f.phases.Update+f.phases.Copy+f.phases.Write, f.phases.Settle)
	m.reg.bytes.Store(f.done.FileBytes)
	if m.root() && f.header.Flush {
		m.tempo.Sent(f.id())
	}
	if m.root() {
		warnOfGrace(m)
	}
}

// needs is what the end of the job needs now.
func (m *meetings) needs() tempo.Needs {
	return m.tempo.Needs(m.reg.bytes.Load(), m.leveled())
}

// warnOfGrace says once, and again when a step is twice as long, that a signal would come too late.
func warnOfGrace(m *meetings) {
	if !takesSignals() {
		return
	}
	n := m.needs()
	if !m.tempo.TooLong(n, m.opt.Grace) {
		return
	}
	round := func(d time.Duration) string { return d.Round(time.Millisecond).String() }
	m.log.Warn("a signal would leave too little time to save: a step, the skew between ranks and a version take longer together than the grace; give more, or call UpdateAndWrite more often",
		"longest_step", round(n.Step), "skew", round(n.Skew), "cost", round(n.Cost),
		"CRAFT_GRACE", m.opt.Grace.String(), "would_do", round((n.Sum()*11/10).Truncate(time.Second)+time.Second))
}

// takesSignals reports whether this process has signals ask for the end: see OnSignal.
func takesSignals() bool {
	for _, what := range demand.This.Taken() {
		if what == demand.TakesEnd {
			return true
		}
	}
	return false
}
