package demand

import (
	"crypto/rand"
	"slices"
	"sync"
	"time"
)

// Process is what a process is asked for, whichever jobs its code is part of, now or later: ranks
// that are goroutines, a rank of a launched job, or neither.
type Process struct {
	mu      sync.Mutex
	jobs    map[int]func(Demand)
	next    int
	end     *demanded
	saves   []Demand // that were asked for while it was part of no job
	plans   map[string]*demanded
	own     *Point
	ownLane string
	takes   map[int]Takes
	leads   int // jobs
}

// Takes is what a program does with a signal.
type Takes uint8

// What a signal may mean.
const (
	TakesNothing Takes = iota
	TakesEnd           // the end of the job
	TakesSave          // a version
	TakesKinds         // how many there are
)

// This is that of this process.
var This = NewProcess()

// NewProcess is one that was asked for nothing, for tests.
func NewProcess() *Process {
	return &Process{jobs: make(map[int]func(Demand)), plans: make(map[string]*demanded), takes: make(map[int]Takes)}
}

// Own is the point of what this process does by itself, and its lane there.
func (p *Process) Own() (point *Point, lane string) {
	p.mu.Lock()
	if p.own != nil {
		defer p.mu.Unlock()
		return p.own, p.ownLane
	}
	p.own, p.ownLane = NewLocal(), World
	point = p.own
	p.mu.Unlock()
	p.Join(point.Ask)
	return point, World
}

// Belong says that this process is one of a job, whose point it is: what is its own is decided there, too.
func (p *Process) Belong(point *Point) (leave func()) {
	p.mu.Lock()
	if p.own == nil {
		p.own, p.ownLane = point, "own-"+rand.Text()
	}
	p.mu.Unlock()
	leaveJob := p.Join(point.Ask)
	return func() {
		leaveJob()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.own == point { // nobody decides there any more
			p.own = nil
		}
	}
}

// Join has a job asked for what this process is asked for, from now on and before.
func (p *Process) Join(ask func(Demand)) (leave func()) {
	p.mu.Lock()
	id := p.next
	p.next++
	p.jobs[id] = ask
	var list []*demanded
	for _, plan := range p.plans {
		list = append(list, plan)
	}
	if p.end != nil {
		list = append(list, p.end)
	}
	saves := p.saves
	p.saves = nil
	p.mu.Unlock()
	for _, d := range append(at(time.Now(), list), saves...) {
		ask(d)
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.jobs, id)
	}
}

// Ask asks all jobs of this process. The end, and plans, also those that it joins later; a version the first
// one that it joins, if there is none.
func (p *Process) Ask(d Demand) {
	asked := &demanded{Demand: d}
	if d.Left != NoLimit {
		asked.deadline = time.Now().Add(d.Left)
	}
	p.mu.Lock()
	switch {
	case d.Planned && d.Left == NoLimit:
		delete(p.plans, d.Source)
	case d.Planned:
		p.plans[d.Source] = asked
	case d.Ends() && (p.end == nil || !asked.deadline.IsZero() && (p.end.deadline.IsZero() || asked.deadline.Before(p.end.deadline))):
		p.end = asked
	case !d.Ends() && len(p.jobs) == 0:
		same := func(s Demand) bool { return s.Source == d.Source }
		p.saves = append(slices.DeleteFunc(p.saves, same), d)
	}
	var jobs []func(Demand)
	for _, ask := range p.jobs {
		jobs = append(jobs, ask)
	}
	p.mu.Unlock()
	for _, ask := range jobs {
		ask(d)
	}
}

// Take notes what the program does with a signal, by its number.
func (p *Process) Take(signal int, what Takes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.takes[signal] = what
}

// Taken is what the program does with signals.
func (p *Process) Taken() map[int]Takes {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[int]Takes)
	for signal, what := range p.takes {
		if what != TakesNothing {
			out[signal] = what
		}
	}
	return out
}

// Lead says that this process has started a job whose launcher sees to the signals of this process, until leave. asked
// is the end that it was asked for before, or nil.
func (p *Process) Lead() (asked *Demand, leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leads++
	if p.end != nil {
		asked = &at(time.Now(), []*demanded{p.end})[0]
	}
	return asked, sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.leads--
	})
}

// Leads reports whether it has started a job that sees to its signals: see Lead.
func (p *Process) Leads() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leads > 0
}

// LaneOf is the point of a communicator (*comm.Comm), and the lane there of calls that its ranks make in one order; key is
// what these have in common. Package comm sets it: programs cannot name the types of this package.
var LaneOf func(communicator any, key string) (point *Point, lane string)
