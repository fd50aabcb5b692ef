package scale

import (
	"fmt"
	"time"

	"github.com/craft-go/craft/aft/internal/control"
)

// quiet is how long a job runs before something fails, and limit how long anything may take.
const (
	quiet = 2 * time.Second
	limit = 30 * time.Minute
)

// sim is a job in simulated time.
type sim struct {
	Config
	queue
	now   time.Time
	root  *root
	nodes []*node
	ranks map[control.Proc]*rank
	sizes sizes

	begun   int // ranks that the root knows to be in the zone
	worlds  map[control.CommID][]control.Proc
	inWorld map[control.CommID]int       // ranks that have a world
	last    map[control.CommID]time.Time // when the last one of them got it
	marks   map[string]time.Time         // when the root has first sent something since the failure
	meeting meeting
	err     error
}

func newSim(c Config) (*sim, error) {
	s := &sim{Config: c, now: time.Unix(1000, 0), ranks: make(map[control.Proc]*rank), sizes: make(sizes),
		worlds: make(map[control.CommID][]control.Proc), inWorld: make(map[control.CommID]int), last: make(map[control.CommID]time.Time), marks: make(map[string]time.Time)}
	machine, err := control.NewRoot(c.root())
	if err != nil {
		return nil, err
	}
	s.root = &root{sim: s, host: host{model: &s.Model}, machine: machine}
	for i := range c.Nodes + 1 {
		s.nodes = append(s.nodes, newNode(s, control.Node(i)))
	}
	return s, nil
}

func nodeName(i int) string { return fmt.Sprintf("n%05d.cluster", i) }

// until lets time pass until something is so.
func (s *sim) until(so func() bool) error {
	over := s.now.Add(limit)
	for s.err == nil && !so() {
		if len(s.list) == 0 || s.now.After(over) {
			return fmt.Errorf("%d nodes of %d ranks: it does not end", s.Nodes, s.Ranks)
		}
		e := s.next()
		s.now = e.at
		e.do()
	}
	return s.err
}

// enter notes that a rank has a world.
func (s *sim) enter(at time.Time, world control.CommID) {
	s.inWorld[world]++
	s.last[world] = later(s.last[world], at)
}

// whole is what a rank knows that is told a difference. All have the same lists, so that there is one of each.
func (s *sim) whole(m control.Made) control.Made {
	if m.New == nil {
		return m
	}
	if procs := s.worlds[m.New.ID]; procs != nil {
		m.New = &control.Group{ID: m.New.ID, Procs: procs}
		return m
	}
	whole, err := m.Whole(s.worlds[m.Comm])
	if err != nil {
		s.err = err
		return m
	}
	s.worlds[m.New.ID] = whole.New.Procs
	return whole
}

// allHave: all ranks have a world.
func (s *sim) allHave(world control.CommID) bool { return s.inWorld[world] == s.size() }

// fail makes the failure that was asked for, in the middle of the job.
func (s *sim) fail() {
	r := s.ranks[control.Proc(s.size()/2)]
	if s.Fails == Node {
		r.node.die()
		return
	}
	r.die()
}
