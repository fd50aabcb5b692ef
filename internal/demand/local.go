package demand

import (
	"slices"
	"sync"
	"time"
)

// local is the job of a process that belongs to no other: decider and point call each other.
type local struct {
	point *Point

	mu      sync.Mutex
	decider *Decider
	events  []func()
	busy    bool
}

// NewLocal is the point of a process that is a job of its own.
func NewLocal() *Point {
	l := &local{decider: NewDecider()}
	l.point = NewPoint(l)
	l.decider.Renew(time.Now(), []Member{0})
	return l.point
}

// Ask implements Uplink.
func (l *local) Ask(d Demand) {
	l.do(func() []Out { out, _ := l.decider.Ask(time.Now(), d); return out })
}

// Passed implements Uplink.
func (l *local) Passed(p Passed) {
	l.do(func() []Out { return l.decider.Passed(time.Now(), 0, p) })
}

// do has events handled one at a time, by whoever finds nobody at it: an answer comes out of the
// event before.
func (l *local) do(decide func() []Out) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, func() {
		for _, o := range decide() {
			l.mu.Unlock()
			if o.Hold != nil {
				l.point.Hold(time.Now(), *o.Hold)
			} else {
				l.point.Meet(*o.Meet)
			}
			l.mu.Lock()
		}
	})
	if l.busy {
		return
	}
	l.busy = true
	for len(l.events) > 0 {
		next := l.events[0]
		l.events = slices.Delete(l.events, 0, 1)
		next()
	}
	l.busy = false
}
