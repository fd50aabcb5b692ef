package tempo

import (
	"sync/atomic"
	"time"

	"github.com/craft-go/craft/storage"
)

// Tempo is how fast the program comes to its calls, and what a version takes, on this rank: what
// the end of the job needs. One goroutine measures, any may ask.
type Tempo struct {
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

// Window is how many calls one has: of the two last ones the longest step counts.
const Window = 256

// New is that of a program that begins now.
func New() *Tempo { return &Tempo{began: time.Now()} }

// Arrived notes a call, and reports whether it has ended the longest step so far.
func (p *Tempo) Arrived() (longest bool) {
	now := int64(time.Since(p.began))
	if last := p.last.Load(); last > 0 {
		step := now - last
		if p.calls++; p.calls >= Window {
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

// Called is when the present call, as the last one of Arrived, has begun; false: it has written, or waited, since.
func (p *Tempo) Called() (at time.Time, is bool) {
	last := p.last.Load()
	return p.began.Add(time.Duration(last)), last > 0
}

// Pauses notes that a call writes, or waits for a version, until goOn: that is no part of a step.
func (p *Tempo) Pauses() (goOn func()) {
	began, last := time.Now(), p.last.Swap(0)
	return func() {
		if last > 0 {
			p.last.Store(last + int64(time.Since(began)))
		}
	}
}

// Wrote notes that a call has written something: the next step begins now.
func (p *Tempo) Wrote() { p.last.Store(int64(time.Since(p.began))) }

// Saving is how long this rank has saved at the end of the job; 0: it does not.
func (p *Tempo) Saving(now time.Time) time.Duration {
	since := p.saves.Load()
	if since == 0 {
		return 0
	}
	return max(1, now.Sub(p.began)-time.Duration(since))
}

// SavesUntil notes that this rank saves at the end of the job, until it calls the function that this returns.
func (p *Tempo) SavesUntil() (saved func()) {
	p.saves.Store(max(1, int64(time.Since(p.began))))
	return func() { p.saves.Store(0) }
}

// Stored notes what a version has cost. One that took longer than usual counts for a while.
func (p *Tempo) Stored(cost, skew time.Duration) {
	late(&p.cost, cost)
	least := int64(max(cost, 1))
	if before := p.least.Load(); before > 0 {
		least = min(least, before*10/9+1)
	}
	p.least.Store(least)
	late(&p.skew, skew)
}

// Least is what a version has taken at least of late; 0: none was stored.
func (p *Tempo) Least() time.Duration { return time.Duration(p.least.Load()) }

// CameHome notes how long a version that was stored took to the parallel file system.
func (p *Tempo) CameHome(after time.Duration) { late(&p.home, after) }

func late(at *atomic.Int64, d time.Duration) {
	at.Store(max(int64(d), at.Load()*9/10))
}

// step is the longest one of late, or the present one if that is longer.
func (p *Tempo) step() time.Duration {
	d := max(p.longest.Load(), p.before.Load())
	if last := p.last.Load(); last > 0 {
		d = max(d, int64(time.Since(p.began))-last)
	}
	return time.Duration(d)
}

// Needs is what the end of the job needs.
type Needs struct {
	Step, Skew, Cost time.Duration
	Before           time.Duration // that a version takes which may be on its way then, as far as it was measured
}

// Sum is from now until a version is stored.
func (n Needs) Sum() time.Duration { return n.Step + n.Skew + n.Cost }

// Before a version was written its cost is guessed: so fast a file system is at least.
const (
	guessedRate  = 50e6 // bytes per second
	guessedStart = time.Second
)

// Needs of an end now; bytes are those of the values, and leveled that they go home from the nodes.
func (p *Tempo) Needs(bytes int64, leveled bool) Needs {
	guess := guessedStart + time.Duration(float64(bytes)/guessedRate*float64(time.Second))
	n := Needs{Step: p.step(), Skew: time.Duration(p.skew.Load()), Cost: time.Duration(p.cost.Load())}
	n.Before = n.Skew + n.Cost
	if n.Cost == 0 {
		n.Cost = guess
	}
	if home := time.Duration(p.home.Load()); leveled && home == 0 {
		n.Cost += guess
	} else if leveled {
		n.Cost += home
		n.Before += home
	}
	return n
}

// Sent notes that a version is on its way from the nodes to the parallel file system.
func (p *Tempo) Sent(id storage.ID) { p.sent.Store(&sent{id, time.Now()}) }

// TooLong reports whether a version takes longer, from any moment on, than the grace, for the first time or since a step has become twice as long.
func (p *Tempo) TooLong(n Needs, grace time.Duration) bool {
	if p.cost.Load() == 0 || n.Sum() <= grace || n.Step < 2*p.warned || n.Step == p.warned {
		return false
	}
	p.warned = max(n.Step, 1)
	return true
}

// sent is a version on its way from the nodes to the parallel file system.
type sent struct {
	id storage.ID
	at time.Time
}

// Flushed tells, in the background, that a version has come home.
func (p *Tempo) Flushed(id storage.ID) {
	if s := p.sent.Load(); s != nil && s.id == id {
		p.CameHome(time.Since(s.at))
	}
}
