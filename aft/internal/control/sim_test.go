package control

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// sim is a whole job in simulated time: a real Root, real Daemons, and ranks that
// are models of programs with a zone. Messages take random times; those of one
// link keep their order.
type sim struct {
	t      *testing.T
	random *rand.Rand
	now    time.Time
	cfg    RootConfig
	root   *Root
	nodes  []*simNode
	ranks  map[Proc]*simRank
	events []simEvent // not sorted
	made   map[string]string
	groups map[CommID][]Proc // as the root has them
	end    *End
	log    []string
	target int            // collective operations in a body
	direct bool           // programs may repair without ending their body
	named  *driver.Policy // when they begin with a zone
	over   bool           // the root has decided that the zone is done
	late   bool           // something has died after that

	// Of rounds with signals; see TestRandomSignals.
	zones        int  // 0: one, and ranks end with it
	errorEnds    bool // a program ends when a zone ends with an error
	exitsBetween bool // some ranks exit between two zones
	between      time.Duration
	tail         time.Duration // of main behind the last zone
	pace         time.Duration // of the operations of a body; 0: that of messages
	reactions    []string      // to signals
	computes     bool          // a body ends when it has saved what it has because of a signal
	endings      map[opKey][]Proc
	calls        bool // programs store versions: see TestRandomDemands

	idle int // calls of Tick in a row that have changed nothing
}

type simEvent struct {
	at   time.Time
	what string
	do   func()
}

type simLink struct{ last time.Time }

type simNode struct {
	id           Node
	daemon       *Daemon
	up, down     simLink
	dead         bool // the daemon's process
	stopped      bool // gets no time
	cutUp        bool // nothing arrives at the root
	cutDown      bool // nothing arrives at the daemon
	lostReported bool
}

const simPeriod = 100 * time.Millisecond

func newSim(t *testing.T, random *rand.Rand, cfg RootConfig) *sim {
	cfg.Timing = Timing{Period: simPeriod, Lease: time.Second, Margin: 100 * time.Millisecond, Repair: 20 * time.Second,
		Start: time.Duration(random.IntN(2)) * 5 * time.Second}
	root, err := NewRoot(cfg)
	require.NoError(t, err)
	named := []*driver.Policy{nil, &cfg.Policy, policy(driver.GlobalRestart, driver.Reuse)}[random.IntN(3)]
	s := &sim{t: t, random: random, now: time.Unix(1000, 0), cfg: cfg, root: root,
		ranks: make(map[Proc]*simRank), made: make(map[string]string), groups: make(map[CommID][]Proc), endings: make(map[opKey][]Proc), target: 1 + random.IntN(25), direct: random.IntN(2) == 0, named: named}
	for i := range cfg.Nodes {
		s.nodes = append(s.nodes, &simNode{id: Node(i)})
	}
	return s
}

func (s *sim) after(d time.Duration, what string, do func()) {
	s.events = append(s.events, simEvent{s.now.Add(d), what, do})
}

func (s *sim) delay() time.Duration {
	if s.random.IntN(20) == 0 {
		return time.Duration(s.random.IntN(int(50 * time.Millisecond)))
	}
	return time.Duration(s.random.IntN(int(2 * time.Millisecond)))
}

// wire takes a message through the codec, so that nobody shares memory.
func (s *sim) wire(m Message) Message {
	var b bytes.Buffer
	require.NoError(s.t, WriteMessage(&b, m), "%+v", m)
	out, err := ReadMessage(&b)
	require.NoError(s.t, err)
	return out
}

func (s *sim) deliver(l *simLink, what string, do func()) {
	at := s.now.Add(s.delay())
	if at.Before(l.last) {
		at = l.last
	}
	l.last = at
	s.events = append(s.events, simEvent{at, what, do})
}

func (s *sim) fatal(format string, args ...any) {
	s.t.Helper()
	from := max(0, len(s.log)-200)
	for _, line := range s.log[from:] {
		s.t.Log(line)
	}
	s.t.Fatalf(format, args...)
}

func (s *sim) logf(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%8.3f ", s.now.Sub(time.Unix(1000, 0)).Seconds())+fmt.Sprintf(format, args...))
}

// run goes on until the root has ended the job.
func (s *sim) run(limit time.Duration) {
	deadline := s.now.Add(limit)
	s.actions(s.root.Begin(s.now))
	for s.end == nil {
		if s.now.After(deadline) {
			s.fatal("the job has not ended within %v; pending: %s", limit, s.pending())
		}
		s.step()
	}
}

func (s *sim) pending() string {
	text := ""
	for _, o := range s.root.rendezvous.pending() {
		text += fmt.Sprintf("[%v %s joined %d of %v]", o.key, o.op, len(o.joins), ids(o.group.members))
	}
	return text
}

// step does the next thing: of equal times the first.
func (s *sim) step() {
	next := -1
	for i, e := range s.events {
		if next < 0 || e.at.Before(s.events[next].at) {
			next = i
		}
	}
	at, do := time.Time{}, func() {}
	if next >= 0 {
		at, do = s.events[next].at, s.events[next].do
	}
	tick := func(t time.Time, f func()) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at, do, next = t, f, -1
		}
	}
	tick(s.root.Next(), func() {
		s.actions(s.root.Tick(s.now))
		if due := s.root.Next(); due.IsZero() || due.After(s.now) {
			s.idle = 0
		} else if s.idle++; s.idle > 100 {
			s.fatal("the root wants to be called again and again, without end")
		}
	})
	for _, n := range s.nodes {
		if n.daemon != nil && !n.dead && !n.stopped {
			tick(n.daemon.Next(), func() { s.daemonActions(n, n.daemon.Tick(s.now)) })
		}
	}
	if at.IsZero() {
		s.fatal("nothing happens any more: %s", s.pending())
	}
	if next >= 0 {
		s.events = append(s.events[:next], s.events[next+1:]...)
	}
	if at.After(s.now) {
		s.now = at
	}
	do()
	requireCensus(s.t, s.root.members)
	requireWatched(s.t, s.root.members)
}

func (s *sim) actions(list []Action) {
	for _, a := range list {
		switch {
		case a.Send != nil:
			s.fromRoot(*a.Send)
		case a.Fence != nil:
			n := s.nodes[*a.Fence]
			s.logf("fence node %d", n.id)
			if s.cfg.Nodes[n.id].Local {
				s.killNode(n)
			}
		case a.Note != nil:
			s.logf("note: %s %v", a.Note.Text, a.Note.Attrs)
			s.late = s.late || s.over && a.Note.Text == "a process has failed"
			require.LessOrEqual(s.t, a.Note.Level, slog.LevelWarn, a.Note.Text)
		case a.End != nil:
			s.logf("end: %+v", *a.End)
			s.end = a.End
		}
	}
}

func (s *sim) fromRoot(send Send) {
	n, m := s.nodes[send.Node], s.wire(send.Message)
	if m.Made != nil && m.Made.New != nil {
		if g := s.root.rendezvous.groups.all[m.Made.New.ID]; g != nil {
			s.groups[g.id] = ids(g.members)
		}
	}
	if m.Kind == KindMade && m.Made.Outcome != nil && !m.Made.Outcome.Repair {
		s.over = true
		if s.zones > 0 && m.Made.Outcome.Err == "" {
			s.endsWell(*m.Made)
		}
	}
	if m.Kind == KindFailed {
		s.logf("failed %v left %v to node %d", m.Failed, m.Left, n.id)
		for _, p := range m.Failed {
			if r := s.ranks[p]; r != nil && r.mayPublish() {
				s.fatal("process %d was declared dead but runs", p)
			}
		}
	}
	s.deliver(&n.down, "down", func() {
		if n.dead || n.cutDown {
			return
		}
		if n.stopped {
			return // it will never go on in this model
		}
		if m.Kind == KindSetup {
			n.daemon = NewDaemon(*m.Setup)
			s.daemonActions(n, n.daemon.Tick(s.now))
			s.toRoot(n, Message{Kind: KindReady, Ready: &Ready{Version: Version, Program: "x"}})
			return
		}
		s.daemonActions(n, n.daemon.FromRoot(s.now, m))
	})
}

func (s *sim) toRoot(n *simNode, m Message) {
	m = s.wire(m)
	s.deliver(&n.up, "up", func() {
		if n.cutUp || n.lostReported {
			return
		}
		if m.Kind != KindPulse {
			s.logf("root gets %s of node %d: %s", m.Kind, n.id, brief(m))
		}
		s.actions(s.root.Handle(s.now, n.id, m))
	})
}

func brief(m Message) string {
	switch m.Kind {
	case KindJoin:
		text := ""
		for _, j := range m.Joins {
			text += fmt.Sprintf("%d:%s(%d,%d/%d) ", j.Proc, j.Op, j.Comm, j.Seq>>60, j.Seq&(1<<60-1))
		}
		return text
	case KindExit:
		return fmt.Sprintf("%+v", m.Exits)
	case KindHello:
		return fmt.Sprint(m.Hello.Proc)
	}
	return ""
}

func (s *sim) daemonActions(n *simNode, list []DaemonAction) {
	for _, a := range list {
		switch {
		case a.ToRoot != nil:
			s.toRoot(n, *a.ToRoot)
		case a.ToRank != nil:
			if r := s.ranks[a.ToRank.Proc]; r != nil {
				m := s.wire(a.ToRank.Message)
				s.deliver(&r.in, "to rank", func() { r.get(m) })
			}
		case a.Start != nil:
			s.startRank(n, *a.Start)
		case a.Kill != nil:
			if strings.Contains(a.Kill.Why, "did not come") {
				s.fatal("process %d waits for something that never comes: %s", a.Kill.Proc, s.pending())
			}
			if r := s.ranks[a.Kill.Proc]; r != nil && a.Kill.Signal != sigkill && !r.dead && !r.hung {
				r.signal(a.Kill.Signal)
			}
			if r := s.ranks[a.Kill.Proc]; r != nil && a.Kill.Signal == sigkill {
				r.die(Exit{Proc: r.proc, Code: -1, Signal: sigkill})
			}
		case a.End != nil:
			s.logf("daemon %d ends: %s", n.id, a.End.Why)
			s.killNode(n)
		}
	}
}

// killNode kills the daemon and with it its ranks.
func (s *sim) killNode(n *simNode) {
	if n.dead {
		return
	}
	s.logf("daemon %d dies", n.id)
	n.dead = true
	for _, r := range s.ranks {
		if r.node == n {
			r.dead = true
		}
	}
	local := s.cfg.Nodes[n.id].Local
	if !local && s.random.IntN(2) == 0 {
		return // nobody tells
	}
	s.deliver(&n.up, "lost", func() {
		n.lostReported = true
		s.actions(s.root.Lost(s.now, n.id, "killed", local))
	})
}

// endsWell: all members have come to the end of a zone, and none is missing.
func (s *sim) endsWell(m Made) {
	group := ids(s.root.rendezvous.groups.all[m.Comm].members)
	for _, p := range group {
		if !slices.Contains(s.endings[opKey{m.Comm, m.Seq}], p) {
			s.fatal("a zone ended well without the body of process %d", p)
		}
	}
	s.checkSize(group)
}
