package checkpoint

import (
	"sync/atomic"
	"time"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/storage"
)

// tempo is how fast the program comes to its calls, and what a version takes, on this rank: what
// the end of the job needs. One goroutine measures, any may ask.
type tempo struct {
	began time.Time // times below count from here, in ns
	calls int       // in the present window
	// warned: the longest step for which it was said that the grace does not do.
	warned time.Duration

	last    atomic.Int64 // when the present step began; 0: there is none, as in a call that writes, or waits
	longest atomic.Int64 // step of the present window
	before  atomic.Int64 // and of the one before
	cost    atomic.Int64 // of a version until it is stored, the largest of late; 0: none was
	least   atomic.Int64 // the smallest of late
	home    atomic.Int64 // until it is on the parallel file system, in addition
	sent    atomic.Pointer[sent]
	skew    atomic.Int64 // that a version has waited for other ranks, the largest of late
	saves   atomic.Int64 // since when this rank saves at the end of the job; 0: it does not
}

// window is how many calls one has: of the two last ones the longest step counts.
const window = 256

func newTempo() *tempo { return &tempo{began: time.Now()} }

// arrived notes a call, and reports whether it has ended the longest step so far.
func (p *tempo) arrived() (longest bool) {
	now := int64(time.Since(p.began))
	if last := p.last.Load(); last > 0 {
		step := now - last
		if p.calls++; p.calls >= window {
			p.before.Store(p.longest.Load())
			p.longest.Store(0)
			p.calls = 0
		}
		if step > p.longest.Load() {
			longest = step > p.before.Load()
			p.longest.Store(step)
		}
	}
	p.last.Store(now)
	return longest
}

// called is when the present call of UpdateAndWrite began, where that is known: to look at a clock is most of what one costs that
// is not due.
func called(m *meetings) time.Time {
	if last := m.tempo.last.Load(); last > 0 && m.lane != nil && !m.line.unreachable() {
		return m.tempo.began.Add(time.Duration(last))
	}
	return time.Now()
}

// pauses notes that a call writes, or waits for a version, until goOn: that is no part of a step.
func (p *tempo) pauses() (goOn func()) {
	began, last := time.Now(), p.last.Swap(0)
	return func() {
		if last > 0 {
			p.last.Store(last + int64(time.Since(began)))
		}
	}
}

// wrote notes that a call has written something: the next step begins now.
func (p *tempo) wrote() { p.last.Store(int64(time.Since(p.began))) }

// saving is how long this rank has saved at the end of the job; 0: it does not.
func (p *tempo) saving(now time.Time) time.Duration {
	since := p.saves.Load()
	if since == 0 {
		return 0
	}
	return max(1, now.Sub(p.began)-time.Duration(since))
}

// savesUntil notes that this rank saves at the end of the job, until it calls the function that this returns.
func (p *tempo) savesUntil() (saved func()) {
	p.saves.Store(max(1, int64(time.Since(p.began))))
	return func() { p.saves.Store(0) }
}

// stored notes what a version has cost. One that took longer than usual counts for a while.
func (p *tempo) stored(cost, skew time.Duration) {
	late(&p.cost, cost)
	least := int64(max(cost, 1))
	if before := p.least.Load(); before > 0 {
		least = min(least, before*10/9+1)
	}
	p.least.Store(least)
	late(&p.skew, skew)
}

// cameHome notes how long a version that was stored took to the parallel file system.
func (p *tempo) cameHome(after time.Duration) { late(&p.home, after) }

func late(at *atomic.Int64, d time.Duration) {
	at.Store(max(int64(d), at.Load()*9/10))
}

// step is the longest one of late, or the present one if that is longer.
func (p *tempo) step() time.Duration {
	d := max(p.longest.Load(), p.before.Load())
	if last := p.last.Load(); last > 0 {
		d = max(d, int64(time.Since(p.began))-last)
	}
	return time.Duration(d)
}

// needs is what the end of the job needs.
type needs struct {
	step, skew, cost time.Duration
	before           time.Duration // that a version takes which may be on its way then, as far as it was measured
}

func (n needs) sum() time.Duration { return n.step + n.skew + n.cost }

// Before a version was written its cost is guessed: so fast a file system is at least.
const (
	guessedRate  = 50e6 // bytes per second
	guessedStart = time.Second
)

// needs of an end now; bytes are those of the values, and leveled that they go home from the nodes.
func (p *tempo) needs(bytes int64, leveled bool) needs {
	guess := guessedStart + time.Duration(float64(bytes)/guessedRate*float64(time.Second))
	n := needs{step: p.step(), skew: time.Duration(p.skew.Load()), cost: time.Duration(p.cost.Load())}
	n.before = n.skew + n.cost
	if n.cost == 0 {
		n.cost = guess
	}
	if home := time.Duration(p.home.Load()); leveled && home == 0 {
		n.cost += guess
	} else if leveled {
		n.cost += home
		n.before += home
	}
	return n
}

// measured takes what a version has cost, when it is settled.
func (m *meetings) measured(f *flight, err error) {
	if err != nil {
		return
	}
	m.tempo.stored(f.phases.Update+f.phases.Copy+f.phases.Write, f.phases.Settle)
	m.reg.bytes.Store(f.done.FileBytes)
	if m.root() && f.header.Flush {
		m.tempo.sent.Store(&sent{f.id(), time.Now()})
	}
	if m.root() {
		warnOfGrace(m)
	}
}

// needs is what the end of the job needs now.
func (m *meetings) needs() needs {
	return m.tempo.needs(m.reg.bytes.Load(), m.leveled())
}

// warnOfGrace says once, and again when a step is twice as long, that a signal would come too late.
func warnOfGrace(m *meetings) {
	if !takesSignals() || m.tempo.cost.Load() == 0 {
		return
	}
	n := m.needs()
	if n.sum() <= m.opt.Grace || n.step < 2*m.tempo.warned || n.step == m.tempo.warned {
		return
	}
	m.tempo.warned = max(n.step, 1)
	round := func(d time.Duration) string { return d.Round(time.Millisecond).String() }
	m.log.Warn("a signal would leave too little time to save: a step, the skew between ranks and a version take longer together than the grace; give more, or call UpdateAndWrite more often",
		"longest_step", round(n.step), "skew", round(n.skew), "cost", round(n.cost),
		"CRAFT_GRACE", m.opt.Grace.String(), "would_do", round((n.sum()*11/10).Truncate(time.Second)+time.Second))
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

// sent is a version on its way from the nodes to the parallel file system.
type sent struct {
	id storage.ID
	at time.Time
}

// flushed is called in the background.
func (p *tempo) flushed(id storage.ID) {
	if s := p.sent.Load(); s != nil && s.id == id {
		p.cameHome(time.Since(s.at))
	}
}
