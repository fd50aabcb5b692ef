package control

import (
	"fmt"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

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
