package control

import (
	"fmt"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/demand"
)

// simRank is a model of a program with a zone.
type simRank struct {
	s        *sim
	node     *simNode
	proc     Proc
	original Original
	in, out  simLink
	dead     bool // its process
	hung     bool // gets no time
	done     bool // said Bye

	world   *Group
	groups  map[CommID][]Proc // that it is one of
	epoch   int
	failed  map[Proc]bool
	revoked map[CommID]bool
	seqs    map[CommID][Classes]uint64
	current *Group // of the operations of the body
	count   int    // of operations in this body
	waits   *Join
	pulses  map[uint64]time.Time
	seq     uint64
	lease   time.Time
	woken   bool // a spare rank that no sign of life of was answered yet
	// Of rounds with signals:
	zone    int
	left    map[Proc]bool
	blocked bool // it waits for a message of anybody
	begun   bool // with a zone
	asked   bool // to end, which it does as soon as it can
	saved   bool // because of a signal, and has nothing more to do
	simCalls
}

func (s *sim) startRank(n *simNode, st Start) {
	r := &simRank{s: s, node: n, proc: st.Proc, original: st.Original, failed: make(map[Proc]bool), left: make(map[Proc]bool), revoked: make(map[CommID]bool), groups: make(map[CommID][]Proc),
		seqs: make(map[CommID][Classes]uint64), pulses: make(map[uint64]time.Time), lease: s.now.Add(s.cfg.Timing.Lease)}
	r.point, r.pace = demand.NewPoint(simUplink{r}), time.Duration(1+s.random.IntN(int(10*time.Millisecond)))
	s.ranks[r.proc] = r
	s.logf("start %+v on node %d", st, n.id)
	start := s.delay() * 5
	if s.computes {
		start = time.Duration(s.random.IntN(int(s.cfg.Timing.Repair / 2)))
	}
	s.after(start, "hello", func() {
		r.send(Message{Kind: KindHello, Hello: &Hello{Version: Version, Address: fmt.Sprint("@", r.proc), Takes: s.takes()}})
		if r.original != Asleep {
			r.beat()
		}
	})
	if r.original != Asleep {
		r.lease = r.lease.Add(start)
		s.after(start+s.cfg.Timing.Lease, "lease", r.checkLease)
	}
}

// wakeUp begins the life of a spare rank.
func (r *simRank) wakeUp(o Original) {
	r.s.logf("process %d becomes rank %d", r.proc, o)
	r.original, r.woken = o, true
	r.lease = r.s.now.Add(r.s.cfg.Timing.Lease)
	r.s.after(r.s.cfg.Timing.Lease, "lease", r.checkLease)
	r.beat()
}

// mayPublish: its lease permits it to act as a rank, which that of a spare one that was woken does not before the
// first answer (see embedded.lease.wake).
func (r *simRank) mayPublish() bool {
	return !r.dead && r.original != Asleep && !r.woken
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
	r.hears(m)
	switch m.Kind {
	case KindPulse:
		if at, ok := r.pulses[m.Pulse.Seq]; ok {
			if until := at.Add(m.Pulse.Left); r.woken || until.After(r.lease) {
				r.lease, r.woken = until, false
			}
		}
	case KindPeers:
		for _, p := range m.Peers {
			if p.Proc == r.proc && r.original == Asleep {
				r.wakeUp(p.Original)
			}
		}
	case KindFailed:
		for _, p := range m.Failed {
			r.failed[p] = true
			delete(r.left, p)
		}
		for _, p := range m.Left {
			r.left[p] = true
		}
		r.wake()
	case KindRevoke:
		r.revoked[m.Revoke.Comm] = true
		r.wake()
	case KindMade:
		r.answer(r.whole(*m.Made))
	}
}

// whole is what a message says that may tell a difference: the same as the root has decided.
func (r *simRank) whole(m Made) Made {
	whole, err := m.Whole(r.groups[m.Comm])
	if err != nil {
		r.s.fatal("process %d: %v", r.proc, err)
	}
	if g := whole.New; g != nil {
		r.groups[g.ID] = g.Procs
		if want, known := r.s.groups[g.ID]; known && !slices.Equal(want, g.Procs) {
			r.s.fatal("process %d takes communicator %d for %v, the root has %v", r.proc, g.ID, g.Procs, want)
		}
	}
	if m.Change != nil {
		r.s.changes(r.proc, whole)
	}
	return whole
}

// changes looks at the ranks of a repair: they are the same for those who derive them from a difference and for newcomers.
func (s *sim) changes(p Proc, m Made) {
	key, ranks := fmt.Sprint("ranks ", m.New.ID), fmt.Sprint(m.Change.Ranks)
	if before, told := s.made[key]; told && before != ranks {
		s.fatal("process %d has ranks %s, others %s", p, ranks, before)
	}
	s.made[key] = ranks
}

// answer goes on with what an operation has brought.
func (r *simRank) answer(m Made) {
	if m.Op == "" {
		if r.world != nil {
			r.s.fatal("process %d gets a second first communicator", r.proc)
		}
		if r.original == Asleep {
			r.s.fatal("process %d is in a communicator and does not know its rank", r.proc)
		}
		r.zone = m.Zone
		if r.s.zones > 0 && r.zone >= r.s.zones {
			r.quit(len(m.ZoneErrors))
			return
		}
		if r.s.zones > 0 && r.s.errorEnds && len(m.ZoneErrors) > 0 {
			r.quit(1)
			return
		}
		r.begin()
		r.enter(m.New, m.Epoch)
		return
	}
	if r.waits == nil || r.waits.Comm != m.Comm || r.waits.Seq != m.Seq || r.waits.Op != m.Op {
		r.s.fatal("process %d gets %+v, waits for %+v", r.proc, m, r.waits)
	}
	r.waits = nil
	r.uniform(m)
	if m.Err != "" {
		r.refused(m)
		return
	}
	if r.meeting != nil {
		r.stored(m)
		return
	}
	switch m.Op {
	case OpEnd:
		if m.Outcome.Repair {
			r.repair()
			return
		}
		if r.s.zones > 0 {
			r.zone++
			r.begun = false
			if r.zone >= r.s.zones || m.Outcome.Err != "" && r.s.errorEnds {
				code := 0
				if m.Outcome.Err != "" {
					code = 1
				}
				if r.ended {
					code = requeueCode
				}
				r.quit(code)
				return
			}
			if r.s.exitsBetween && r.s.random.IntN(6) == 0 { // between two zones
				r.s.logf("process %d exits between zones", r.proc)
				r.die(Exit{Proc: r.proc, Code: r.s.random.IntN(2) * 3, Step: NoStep, Zone: r.zone})
				return
			}
			r.s.after(time.Duration(r.s.random.IntN(int(r.s.between))), "between", func() {
				if r.dead || r.hung {
					return
				}
				r.begin()
				r.enter(r.world, r.epoch)
			})
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
		kind.Seq = m.Op.Class().Seq(0) // some repair without having ended their body
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

// wake ends a wait for a message of anybody: something has happened.
func (r *simRank) wake() {
	if r.blocked {
		r.blocked = false
		r.later()
	}
}

// begin says that a zone runs, and with which policy.
func (r *simRank) begin() {
	r.begun = true
	r.send(Message{Kind: KindBegin, Begin: &Begin{Proc: r.proc, Policy: r.s.named}})
}

// quit exits at the end of main, some time later.
func (r *simRank) quit(code int) {
	r.begun = false
	r.s.after(time.Duration(r.s.random.IntN(int(r.s.tail))), "quit", func() {
		if r.hung {
			return
		}
		r.die(Exit{Proc: r.proc, Code: code, Step: NoStep, Zone: r.zone})
	})
}

func (r *simRank) later() {
	if r.s.calls {
		r.s.after(time.Duration(r.s.random.IntN(int(r.pace))), "work", r.work)
		return
	}
	if r.s.pace > 0 {
		r.s.after(time.Duration(r.s.random.IntN(int(r.s.pace))), "work", r.work)
		return
	}
	r.s.after(r.s.delay(), "work", r.work)
}

// work is the body: a series of operations that is the same at all ranks of a
// communicator.
func (r *simRank) work() {
	if r.dead || r.hung || r.waits != nil || r.blocked || r.s.zones > 0 && !r.begun {
		return
	}
	pending := r.revoked[r.world.ID]
	for _, p := range r.world.Procs {
		pending = pending || r.failed[p]
	}
	if r.s.calls {
		r.compute(pending)
		return
	}
	if !pending && r.s.zones > 0 {
		gone := false
		for _, p := range r.world.Procs {
			gone = gone || r.left[p]
		}
		if gone && r.s.random.IntN(3) == 0 {
			if r.s.random.IntN(2) == 0 { // names it
				pending = true
			} else {
				r.s.logf("process %d waits for anybody", r.proc)
				r.blocked = true
				return
			}
		}
		if r.asked && !pending {
			r.asked = false
			r.send(Message{Kind: KindRevoke, Revoke: &Revoke{Comm: r.world.ID, Derived: true}})
			r.join(r.world, Join{Op: OpEnd, Verdict: &driver.Verdict{Err: "stopped"}, Step: int64(r.count)})
			return
		}
	}
	switch {
	case pending:
		if r.s.zones > 0 || r.s.random.IntN(2) == 0 {
			r.send(Message{Kind: KindRevoke, Revoke: &Revoke{Comm: r.world.ID, Derived: true}})
		}
		if r.s.direct && len(r.failed) > 0 && r.s.random.IntN(2) == 0 {
			r.repair()
			return
		}
		r.join(r.world, Join{Op: OpEnd, Verdict: &driver.Verdict{Failure: true}, Step: int64(r.count)})
	case r.s.computes && !r.saved:
		r.blocked = true
	case r.count >= r.s.target || r.saved:
		r.join(r.world, Join{Op: OpEnd, Verdict: &driver.Verdict{}, Step: int64(r.count)})
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
	j.Proc, j.Comm, j.Seq = r.proc, g.ID, class.Seq(n[class])
	n[class]++
	r.seqs[g.ID] = n
	r.waits = &j
	if j.Op == OpEnd {
		key := opKey{g.ID, r.waits.Seq}
		r.s.endings[key] = append(r.s.endings[key], r.proc)
	}
	r.send(Message{Kind: KindJoin, Joins: []Join{j}})
}
