package demand

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is returned by calls that wait when the point is closed.
var ErrClosed = errors.New("the process's part in its job has ended")

// Uplink is the way from a process to the decider.
type Uplink interface {
	Ask(d Demand)
	Passed(p Passed)
}

// Point is where the calls of a process meet those of the others. Calls of a program and events of
// the runtime may come at the same time; events come one at a time.
type Point struct {
	up Uplink

	end atomic.Pointer[Demanded] // the end that was asked for
	met atomic.Bool              // of the end: it is over, or it was taken elsewhere

	gotOn atomic.Bool // see GetsOn

	mu       sync.Mutex
	lanes    map[string]*Lane
	held     uint64 // serial of the Hold that calls wait for; 0: none
	serial   uint64 // of the last meeting
	decided  map[string]uint64
	open     []Demanded // of the Hold that calls wait for
	lonely   bool       // there was no lane for what the last Hold demanded
	plans    map[string]Demanded
	asked    map[version]bool // versions that are not stored yet; true: somebody was told by Asked
	watchers []chan struct{}
	changed  chan struct{} // closed when something above has changed
	closed   bool
}

// Demanded is a demand as this process counts it.
type Demanded struct {
	Demand
	Deadline time.Time // on the monotonic clock; zero: there is none
	Since    time.Time // when this process heard of it
}

// Remains is the time left, or NoLimit.
func (d *Demanded) Remains(now time.Time) time.Duration {
	if d.Deadline.IsZero() {
		return NoLimit
	}
	return max(0, d.Deadline.Sub(now))
}

// NewPoint is the point of a process; up is called without a lock held.
func NewPoint(up Uplink) *Point {
	return &Point{
		up: up, lanes: make(map[string]*Lane), plans: make(map[string]Demanded), asked: make(map[version]bool),
		changed: make(chan struct{}),
	}
}

// version is one that is asked for.
type version struct{ id, source, for_ string }

func (d *Demanded) version() version { return version{d.ID, d.Source, d.For} }

// Lane counts the calls of what has one order on all its ranks.
type Lane struct {
	point *Point
	key   string
	// state is twice the number of calls that have passed, and 1 if the next one is to look.
	state atomic.Uint64

	// Under point.mu:
	users    int
	answered bool      // it was open in the last answer
	meetings []meeting // in the order of their calls
}

// meeting is a call at which something is demanded.
type meeting struct {
	call   uint64
	serial uint64
	for_   []Demanded
}

// Join opens a lane; each Join has its Leave.
func (p *Point) Join(key string) *Lane {
	p.mu.Lock()
	l := p.lanes[key]
	if l == nil {
		l = &Lane{point: p, key: key}
		p.lanes[key] = l
	}
	l.users++
	p.mark(l)
	_, known := p.decided[key]
	changed := p.unknown() && p.held == 0 && l.users == 1 && !known
	serial := p.serial
	p.mu.Unlock()
	if changed {
		p.up.Passed(Passed{Serial: serial, Changed: true})
	}
	return l
}

// Leave closes a lane.
func (l *Lane) Leave() {
	p := l.point
	p.mu.Lock()
	l.users--
	_, decides := p.decided[l.key]
	changed := l.users == 0 && decides && len(l.meetings) > 0 && p.held == 0
	serial := p.serial
	p.mu.Unlock()
	if changed {
		p.up.Passed(Passed{Serial: serial, Changed: true})
	}
}

// unmet: something was asked for that this process has not come to yet.
func (p *Point) unmet() bool {
	return p.lonely || p.end.Load() != nil && !p.met.Load()
}

// mark has the calls of a lane look, or not.
func (p *Point) mark(l *Lane) {
	if p.held != 0 || len(l.meetings) > 0 || p.met.Load() {
		l.state.Or(1)
	} else {
		l.state.And(^uint64(1))
	}
}

func (p *Point) markAll() {
	for _, l := range p.lanes {
		p.mark(l)
	}
}

// wake has everybody look who waits.
func (p *Point) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
	for _, ch := range p.watchers {
		select {
		case ch <- struct{}{}:
		default: // it has not looked yet
		}
	}
}

// Meeting is what a call is to do.
type Meeting struct {
	// For is what was demanded: a version of each, or the end.
	For []Demanded
	// Over: the job has ended here already, and nothing is to be done.
	Over    bool
	lane    *Lane
	call    uint64
	serials []uint64
}

// Ends is the demand to end, or nil.
func (m *Meeting) Ends() *Demanded {
	for i := range m.For {
		if m.For[i].Ends() {
			return &m.For[i]
		}
	}
	return nil
}

// Call counts a call: nil, nothing is to be done; otherwise what is. While a meeting is agreed on it
// waits. A meeting stays until Done.
func (l *Lane) Call(ctx context.Context) (*Meeting, error) {
	for {
		s := l.state.Load()
		if s&1 != 0 {
			return l.look(ctx)
		}
		if l.state.CompareAndSwap(s, s+2) {
			return nil, nil
		}
	}
}

// Calls is how many have passed.
func (l *Lane) Calls() uint64 { return l.state.Load() / 2 }

func (l *Lane) look(ctx context.Context) (*Meeting, error) {
	p := l.point
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.held != 0 && !p.met.Load() {
		if p.closed {
			return nil, ErrClosed
		}
		changed := p.changed
		p.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		p.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
	call := l.state.Add(2) / 2
	if p.met.Load() {
		return &Meeting{For: []Demanded{*p.end.Load()}, Over: true}, nil
	}
	m := Meeting{lane: l, call: call}
	for _, at := range l.meetings {
		if at.call <= call {
			m.For, m.serials = append(m.For, at.for_...), append(m.serials, at.serial)
		}
	}
	if len(m.For) == 0 {
		return nil, nil
	}
	return &m, nil
}

// Done says that what a meeting is for was done: a version is there, or nothing more can be done
// about it. If it was the end, this process has ended for all lanes.
func (l *Lane) Done(m *Meeting) {
	p := l.point
	p.mu.Lock()
	defer p.mu.Unlock()
	l.meetings = slices.DeleteFunc(l.meetings, func(at meeting) bool { return at.call <= m.call })
	for _, d := range m.For {
		delete(p.asked, d.version())
	}
	if m.Ends() != nil {
		p.met.Store(true)
		p.wake()
	}
	p.markAll()
}

// Stored says that the versions that a meeting is for are stored, on all ranks of the lane, or that nobody tries
// any more: they need not be asked for again after a repair. One rank says so, before Done or any time after it.
func (m *Meeting) Stored() {
	for _, serial := range m.serials {
		m.lane.point.up.Passed(Passed{Serial: serial, Lanes: []Position{{Lane: m.lane.key}}, Stored: true})
	}
}

// End is the end that was asked for, or nil; over says that it was met here.
func (p *Point) End() (d *Demanded, over bool) { return p.end.Load(), p.met.Load() }

// GetsOn notes that a version was stored here that outlives the job, of any checkpoint: its start has come to something.
func (p *Point) GetsOn() {
	if p != nil {
		p.gotOn.Store(true)
	}
}

// GotOn reports whether GetsOn was called. Where nobody can ask (nil), nobody wants to know.
func (p *Point) GotOn() bool { return p != nil && p.gotOn.Load() }

// Plan is the earliest deadline that is planned, or nil.
func (p *Point) Plan() *Demanded {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first *Demanded
	for _, d := range p.plans {
		if first == nil || d.Deadline.Before(first.Deadline) {
			first = &d
		}
	}
	return first
}

// Asked are the sources of the versions that this process was told to store since it was called last, for the log.
func (p *Point) Asked() (sources []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for v, told := range p.asked {
		if !told {
			p.asked[v] = true
			sources = append(sources, v.source)
		}
	}
	slices.Sort(sources)
	return slices.Compact(sources)
}

// Ask asks the job for something.
func (p *Point) Ask(d Demand) { p.up.Ask(d) }

// Watch gives a value when a demand has come, or changed, until stop is called. The channel is of whoever watches, so that
// a test of a program may run on a clock of its own (testing/synctest).
func (p *Point) Watch() (changed <-chan struct{}, stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch := make(chan struct{}, 1)
	p.watchers = append(p.watchers, ch)
	return ch, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.watchers = slices.DeleteFunc(p.watchers, func(one chan struct{}) bool { return one == ch })
	}
}

// Hold is an event of the runtime.
func (p *Point) Hold(now time.Time, h Hold) {
	p.mu.Lock()
	var open []Demanded
	for _, demand := range h.Demands {
		if d := p.note(now, demand); !d.Planned {
			open = append(open, d)
		}
	}
	if h.Told {
		p.wake()
		p.mu.Unlock()
		return
	}
	p.held, p.open, p.lonely = h.Serial, open, false
	p.markAll() // from now on a call waits, if it has not passed
	answer := Passed{Serial: h.Serial}
	for key, l := range p.lanes {
		l.answered = l.users > 0
		answer.Lanes = append(answer.Lanes, Position{Lane: key, Calls: l.Calls(), Open: l.answered})
	}
	p.wake()
	p.mu.Unlock()
	slices.SortFunc(answer.Lanes, func(a, b Position) int { return cmp.Compare(a.Lane, b.Lane) })
	p.up.Passed(answer)
}

// note takes a demand that this process is told of.
func (p *Point) note(now time.Time, demand Demand) Demanded {
	d := Demanded{Demand: demand, Since: now}
	if d.Left != NoLimit {
		d.Deadline = now.Add(d.Left)
	}
	switch {
	case d.Planned && d.Left == NoLimit:
		delete(p.plans, d.Source)
	case d.Planned:
		p.plans[d.Source] = d
	case d.Ends():
		if before := p.end.Load(); before != nil {
			d.Since = before.Since
		}
		p.end.Store(&d)
	default:
		p.asked[d.version()] = p.asked[d.version()]
	}
	return d
}

// Meet is an event of the runtime.
func (p *Point) Meet(m Meet) {
	if p.meet(m) {
		p.up.Passed(Passed{Serial: m.Serial, Changed: true})
	}
}

// meet reports whether the lanes are others since this process has answered.
func (p *Point) meet(m Meet) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Serial != p.held {
		return false // of a generation that is over, or a later one follows
	}
	p.held, p.serial = 0, m.Serial
	p.decided = make(map[string]uint64)
	for _, at := range m.Lanes {
		p.decided[at.Lane] = at.Calls
		l := p.lanes[at.Lane]
		if l == nil {
			l = &Lane{point: p, key: at.Lane}
			p.lanes[at.Lane] = l
		}
		l.meetings = append(l.meetings, meeting{call: at.Calls, serial: m.Serial, for_: p.open})
	}
	p.lonely, p.open = len(m.Lanes) == 0, nil
	p.wake()
	p.markAll()
	for key, l := range p.lanes {
		_, decided := p.decided[key]
		changed = changed || l.users > 0 && !decided && p.unknown() || l.users == 0 && decided && l.answered
	}
	return changed
}

// unknown: a lane that the last meeting was not decided for has to be one of it.
func (p *Point) unknown() bool {
	_, world := p.decided[World]
	return p.unmet() && !world
}

// Renew begins a generation. again: because of a repair, so that all come to the end once more.
func (p *Point) Renew(again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if again {
		p.met.Store(false)
	}
	p.held, p.serial, p.open, p.decided, p.lonely = 0, 0, nil, nil, false
	for key, l := range p.lanes {
		l.meetings, l.answered = nil, false
		l.state.Store(0)
		if l.users == 0 {
			delete(p.lanes, key)
		}
	}
	p.wake()
	p.markAll()
}

// Close ends the waiting of calls.
func (p *Point) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.wake()
}
