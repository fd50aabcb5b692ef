package control

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// Root decides about a job. Its methods return what is to be done, in this order;
// after End they return nothing any more.
type Root struct {
	cfg       RootConfig
	limit     time.Duration // of silence, then a node is declared dead
	nodes     []*node
	procs     []*process // by Proc
	latest    []*process // by original rank, the last one started; none before the first
	comms     map[CommID]*group
	ops       map[opKey]*operation
	suspected map[accusation]suspicion
	outlived  []*process // scripts whose program has ended

	launched bool   // the first processes were started
	world    CommID // 0: not yet
	lastComm CommID
	epoch    int
	zone     int
	// zoneErrors are the zones that have ended with an error.
	zoneErrors []driver.ZoneError
	policy     driver.Policy
	ledger     ledger

	forwarded    map[int]forwarding // signals
	heeded       bool               // somebody has done what the present request to end asks for
	presumed     int                // processes
	reviewAt     time.Time          // when review is due; zero: when something happens
	inZone       bool               // somebody may be in a zone
	warnedShrink bool               // that a zone recovers all the same
	warned       bool               // that no spare node is left
	began        time.Time
	joinDue      time.Time // when those that have not joined are named; zero: none has joined
	joinNamed    bool
	retry        time.Time // when a replacement that has to wait is due; zero: there is none
	unread       unread
	ended        bool
	out          []Action
}

// NewRoot returns an ErrConfig that names the flag if the job is not possible.
func NewRoot(cfg RootConfig) (*Root, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Repeats == 0 {
		cfg.Repeats = DefaultRepeats
	}
	r := &Root{
		cfg:       cfg,
		limit:     cfg.Timing.Lease + cfg.Timing.Margin,
		comms:     make(map[CommID]*group),
		ops:       make(map[opKey]*operation),
		suspected: make(map[accusation]suspicion),
		policy:    complete(cfg.Policy, driver.Policy{Recovery: driver.NonShrinking, Spawn: driver.NoReuse}),
		ledger:    newLedger(cfg.Repeats),
		forwarded: make(map[int]forwarding),
		inZone:    true,
	}
	for i, n := range cfg.Nodes {
		r.nodes = append(r.nodes, &node{NodeConfig: n, id: Node(i)})
	}
	return r, nil
}

// Begin sends every daemon its Setup; their answer is Ready.
func (r *Root) Begin(now time.Time) []Action {
	r.began = now
	hosts := make(map[string]bool)
	for _, n := range r.nodes {
		hosts[n.Host] = true
	}
	for _, n := range r.nodes {
		s := r.cfg.Setup
		s.Version, s.Node, s.Size, s.Timing = Version, n.id, r.cfg.Size, r.cfg.Timing
		s.Hosts, s.Address, s.Remote = len(hosts), n.Host, !n.Local
		r.send(n, Message{Kind: KindSetup, Setup: &s})
	}
	return r.take()
}

// Handle takes a message from a daemon. Output and credit are not for the root.
func (r *Root) Handle(now time.Time, from Node, m Message) []Action {
	n := r.node(from)
	if r.ended || n == nil || n.lost {
		return nil
	}
	switch m.Kind {
	case KindReady:
		r.ready(now, n, *m.Ready)
	case KindPulse:
		lease := r.lease(now)
		n.heard, n.due = now, now.Add(max(lease, min(m.Pulse.Left, r.cfg.Timing.atStart()))+r.cfg.Timing.Margin)
		r.send(n, Message{Kind: KindPulse, Pulse: &Pulse{Seq: m.Pulse.Seq, Left: lease}})
		return r.take() // nothing to decide
	case KindStarted:
		for _, id := range m.Started {
			if p := r.procOf(n, id); p != nil {
				p.up = now
			}
		}
	case KindOutlived:
		for _, id := range m.Outlived {
			if p := r.procOf(n, id); p != nil {
				r.outlives(now, p)
			}
		}
	case KindHello:
		r.hello(now, n, *m.Hello)
	case KindBegin:
		if p := r.procOf(n, m.Begin.Proc); p != nil {
			p.settled, p.after = unsettled, nil
			r.zoneBegun(now)
		}
	case KindJoin:
		for _, j := range m.Joins {
			r.join(now, n, j)
		}
	case KindRevoke:
		r.revoke(now, *m.Revoke)
	case KindFree:
		if p := r.procOf(n, m.Free.Proc); p != nil {
			r.giveBack(p, m.Free.Comm)
		}
	case KindSuspect:
		r.suspect(now, n, *m.Suspect)
	case KindStack:
		r.stack(n, *m.Stack)
	case KindBye:
		if p := r.procOf(n, m.Bye.Proc); p != nil {
			p.bye = true
		}
	case KindExit:
		r.exits(now, n, m.Exits)
	case KindError:
		r.daemonError(n, *m.Error)
	default:
		r.note(slog.LevelWarn, "a daemon has sent a message that is not for the root", "node", n.Name, "kind", string(m.Kind))
	}
	r.settle(now)
	return r.take()
}

// Signal forwards a signal to all ranks. One that asks for the end ends a job that
// has none yet.
func (r *Root) Signal(now time.Time, number int) []Action {
	if !r.ended {
		r.forward(now, number)
	}
	return r.take()
}

func (r *Root) forward(now time.Time, number int) {
	if Stops(number) && !r.anybody() { // nobody is there to hear it
		when := "before the ranks were started"
		if r.launched {
			when = "while the ranks wait to be started again\n" + strings.Join(r.losses(), "\n")
		}
		r.end(128+number, fmt.Sprintf("%v %s", syscall.Signal(number), when))
		return
	}
	if Stops(number) && !r.askedLately(now) {
		r.heeded = false
		r.ledger.asked()
	}
	r.forwarded[number] = forwarding{at: now, told: now}
	r.broadcast(Message{Kind: KindSignal, Signal: &Signal{Number: number}})
}

// settle decides everything that can be decided now.
func (r *Root) settle(now time.Time) {
	if r.ended || !r.launched {
		return
	}
	r.retry = time.Time{}
	if r.world == 0 {
		r.settleStart(now)
		return
	}
	r.settleOperations(now)
	if !r.ended && !r.anybody() && r.retry.IsZero() {
		r.nobody(now)
	}
}

func (r *Root) anybody() bool {
	for _, p := range r.procs {
		if p.present() {
			return true
		}
	}
	return false
}

func (r *Root) daemonError(n *node, e Error) {
	switch {
	case e.Ends:
		// For when its end is seen. What the root has fenced it for comes before.
		n.why = cmp.Or(n.why, e.Text)
	case r.world == 0:
		r.end(1, fmt.Sprintf("node %s: %s", n.Name, e.Text))
	default:
		r.note(slog.LevelError, "a daemon reports an error", "node", n.Name, "error", e.Text)
	}
}

func (r *Root) node(n Node) *node {
	if n < 0 || int(n) >= len(r.nodes) {
		return nil
	}
	return r.nodes[n]
}

// procOf is the process if it is one of n's that has not ended; a daemon speaks
// for no other.
func (r *Root) procOf(n *node, id Proc) *process {
	if p := r.proc(id); p != nil && p.node == n && p.present() {
		return p
	}
	return nil
}

func (r *Root) proc(id Proc) *process {
	if int(id) >= len(r.procs) {
		return nil
	}
	return r.procs[id]
}

func (r *Root) send(n *node, m Message) {
	if n.reachable() && !r.ended {
		r.out = append(r.out, Action{Send: &Send{Node: n.id, Message: m}})
	}
}

func (r *Root) broadcast(m Message) {
	for _, n := range r.nodes {
		if n.ready {
			r.send(n, m)
		}
	}
}

// sendTo sends m to processes, with one message for each node.
func (r *Root) sendTo(to []*process, m Message) {
	byNode := make(map[Node][]Proc)
	for _, p := range to {
		byNode[p.node.id] = append(byNode[p.node.id], p.id)
	}
	for _, n := range r.nodes {
		if m.To = byNode[n.id]; len(m.To) > 0 {
			r.send(n, m)
		}
	}
}

func (r *Root) note(level slog.Level, text string, attrs ...any) {
	if !r.ended {
		r.out = append(r.out, Action{Note: &Note{Level: level, Text: text, Attrs: attrs}})
	}
}

func (r *Root) fenceNode(n *node) {
	if !r.ended {
		id := n.id
		r.out = append(r.out, Action{Fence: &id})
	}
}

func (r *Root) take() []Action {
	out := r.out
	r.out = nil
	return out
}
