package control

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
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
	end    *End
	log    []string
	target int  // collective operations in a body
	direct bool // programs may repair without ending their body
	over   bool // the root has decided that the zone is done
	late   bool // something has died after that
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
	cfg.Timing = Timing{Period: simPeriod, Lease: time.Second, Margin: 100 * time.Millisecond, Repair: 20 * time.Second}
	root, err := NewRoot(cfg)
	require.NoError(t, err)
	s := &sim{t: t, random: random, now: time.Unix(1000, 0), cfg: cfg, root: root,
		ranks: make(map[Proc]*simRank), made: make(map[string]string), target: 1 + random.IntN(25), direct: random.IntN(2) == 0}
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
	for _, o := range s.root.pending() {
		text += fmt.Sprintf("[%v %s joined %d of %v]", o.key, o.op, len(o.joins), o.group.procs)
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
	tick(s.root.Next(), func() { s.actions(s.root.Tick(s.now)) })
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
	if m.Kind == KindMade && m.Made.Outcome != nil && !m.Made.Outcome.Repair {
		s.over = true
	}
	if m.Kind == KindFailed {
		s.logf("failed %v left %v to node %d", m.Failed, m.Left, n.id)
		for _, p := range m.Failed {
			if r := s.ranks[p]; r != nil && !r.dead {
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

// simRank is a model of a program with a zone.
type simRank struct {
	s        *sim
	node     *simNode
	proc     Proc
	original comm.OriginalRank
	in, out  simLink
	dead     bool // its process
	hung     bool // gets no time
	done     bool // said Bye

	world   *Group
	epoch   int
	failed  map[Proc]bool
	revoked map[CommID]bool
	seqs    map[CommID][3]uint64
	current *Group // of the operations of the body
	count   int    // of operations in this body
	waits   *Join
	pulses  map[uint64]time.Time
	seq     uint64
	lease   time.Time
}

func (s *sim) startRank(n *simNode, st Start) {
	r := &simRank{s: s, node: n, proc: st.Proc, original: st.Original, failed: make(map[Proc]bool), revoked: make(map[CommID]bool),
		seqs: make(map[CommID][3]uint64), pulses: make(map[uint64]time.Time), lease: s.now.Add(s.cfg.Timing.Lease)}
	s.ranks[r.proc] = r
	s.logf("start %+v on node %d", st, n.id)
	s.after(s.delay()*5, "hello", func() {
		r.send(Message{Kind: KindHello, Hello: &Hello{Version: Version, Address: fmt.Sprint("@", r.proc)}})
		r.beat()
	})
	s.after(s.cfg.Timing.Lease, "lease", r.checkLease)
}

func (r *simRank) checkLease() {
	switch {
	case r.dead:
	case !r.s.now.Before(r.lease):
		r.s.logf("process %d has lost its lease", r.proc)
		r.die(Exit{Proc: r.proc, Code: -1, Signal: sigkill})
	default:
		r.s.after(r.lease.Sub(r.s.now), "lease", r.checkLease)
	}
}

func (r *simRank) beat() {
	if r.dead || r.hung || r.done {
		return
	}
	r.seq++
	r.pulses[r.seq] = r.s.now
	r.send(Message{Kind: KindPulse, Pulse: &Pulse{Seq: r.seq, Step: int64(r.count)}})
	r.s.after(simPeriod, "beat", r.beat)
}

func (r *simRank) send(m Message) {
	if r.dead || r.hung {
		return
	}
	m = r.s.wire(m)
	r.s.deliver(&r.out, "from rank", func() {
		if r.node.dead || r.node.stopped {
			return
		}
		r.s.daemonActions(r.node, r.node.daemon.FromRank(r.s.now, r.proc, m))
	})
}

func (r *simRank) die(e Exit) {
	if r.dead {
		return
	}
	r.dead = true
	r.s.logf("process %d dies: %+v", r.proc, e)
	r.s.deliver(&r.out, "exit", func() {
		if !r.node.dead && !r.node.stopped {
			r.s.daemonActions(r.node, r.node.daemon.Exited(r.s.now, e))
		}
	})
}

func (r *simRank) get(m Message) {
	if r.dead || r.hung || r.done {
		return
	}
	switch m.Kind {
	case KindPulse:
		if at, ok := r.pulses[m.Pulse.Seq]; ok {
			if until := at.Add(m.Pulse.Left); until.After(r.lease) {
				r.lease = until
			}
		}
	case KindFailed:
		for _, p := range m.Failed {
			r.failed[p] = true
		}
	case KindRevoke:
		r.revoked[m.Revoke.Comm] = true
	case KindMade:
		r.answer(*m.Made)
	}
}

// answer goes on with what an operation has brought.
func (r *simRank) answer(m Made) {
	if m.Op == "" {
		if r.world != nil {
			r.s.fatal("process %d gets a second first communicator", r.proc)
		}
		r.enter(m.New, m.Epoch)
		return
	}
	if r.waits == nil || r.waits.Comm != m.Comm || r.waits.Seq != m.Seq || r.waits.Op != m.Op {
		r.s.fatal("process %d gets %+v, waits for %+v", r.proc, m, r.waits)
	}
	r.waits = nil
	r.uniform(m)
	if m.Err != "" {
		r.s.fatal("process %d: %s", r.proc, m.Err)
	}
	switch m.Op {
	case OpEnd:
		if m.Outcome.Repair {
			r.repair()
			return
		}
		r.send(Message{Kind: KindBye, Bye: &Bye{}})
		r.done = true
		r.die(Exit{Proc: r.proc})
	case OpRepair:
		r.enter(m.New, m.Change.Epoch)
	case OpShrink, OpSplit:
		if m.New != nil {
			r.current = m.New
		}
		r.later()
	default:
		r.later()
	}
}

// uniform: all get the same answer; those of different colors another one.
func (r *simRank) uniform(m Made) {
	kind := m
	switch m.Op {
	case OpSplit:
		kind.New = nil
	case OpRepair:
		kind.Seq = m.Op.Class() << 60 // some repair without having ended their body
		m.Seq = kind.Seq
	}
	text := fmt.Sprintf("%+v %+v %+v", kind.Outcome, kind.Change, kind.New)
	kind.Outcome, kind.Change, kind.New = nil, nil, nil
	text += fmt.Sprintf(" %+v", kind)
	key := fmt.Sprintf("%d/%d/%s", m.Comm, m.Seq, m.Op)
	if before, ok := r.s.made[key]; ok && before != text {
		r.s.fatal("process %d gets another answer to %s:\n%s\nothers:\n%s", r.proc, key, text, before)
	}
	r.s.made[key] = text
}

func (r *simRank) enter(g *Group, epoch int) {
	r.world, r.epoch, r.current, r.count = g, epoch, g, 0
	r.later()
}

func (r *simRank) later() { r.s.after(r.s.delay(), "work", r.work) }

// work is the body: a series of operations that is the same at all ranks of a
// communicator.
func (r *simRank) work() {
	if r.dead || r.hung || r.waits != nil {
		return
	}
	pending := r.revoked[r.world.ID]
	for _, p := range r.world.Procs {
		pending = pending || r.failed[p]
	}
	switch {
	case pending:
		if r.s.random.IntN(2) == 0 {
			r.send(Message{Kind: KindRevoke, Revoke: &Revoke{Comm: r.world.ID, Derived: true}})
		}
		if r.s.direct && len(r.failed) > 0 && r.s.random.IntN(2) == 0 {
			r.repair()
			return
		}
		r.join(r.world, Join{Op: OpEnd, Verdict: &comm.Verdict{Failure: true}, Step: int64(r.count)})
	case r.count >= r.s.target:
		r.join(r.world, Join{Op: OpEnd, Verdict: &comm.Verdict{}, Step: int64(r.count)})
	default:
		r.count++
		switch (int(r.current.ID) + r.count) % 4 {
		case 0, 1:
			r.join(r.current, Join{Op: OpAgree, Flags: 7})
		case 2:
			r.join(r.current, Join{Op: OpShrink})
		case 3:
			r.join(r.current, Join{Op: OpSplit, Color: int(r.original) % 2, Key: -int(r.original)})
		}
	}
}

func (r *simRank) repair() {
	policy := r.s.cfg.Policy
	r.join(r.world, Join{Op: OpRepair, Policy: &policy, Step: int64(r.count)})
}

func (r *simRank) join(g *Group, j Join) {
	n := r.seqs[g.ID]
	class := j.Op.Class()
	j.Proc, j.Comm, j.Seq = r.proc, g.ID, class<<60+n[class]
	n[class]++
	r.seqs[g.ID] = n
	r.waits = &j
	r.send(Message{Kind: KindJoin, Joins: []Join{j}})
}
