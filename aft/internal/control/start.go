package control

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// ready notes a daemon that is there; when all are, the first processes start.
func (r *Root) ready(now time.Time, n *node, m Ready) {
	if n.ready {
		return
	}
	if m.Version != Version {
		r.end(1, fmt.Sprintf("node %s (%s) has version %d of the launcher, here it is version %d: install the same on all nodes",
			n.Name, m.Host, m.Version, Version))
		return
	}
	n.ready, n.program, n.path = true, m.Program, m.Path
	n.heard, n.due = now, now.Add(r.lease(now)+r.cfg.Timing.Margin)
	r.launch(now)
}

// launch starts the first processes when every node has reported or, as a spare
// one, is lost.
func (r *Root) launch(now time.Time) {
	if r.launched || r.ended {
		return
	}
	for _, n := range r.nodes {
		if !n.ready && !(n.Spare && !n.reachable()) {
			return
		}
	}
	if r.differentPrograms() {
		return
	}
	where := blocks(r.cfg.Size, r.nodes)
	if where == nil {
		r.end(1, fmt.Sprintf("no nodes are left for %d ranks", r.cfg.Size))
		return
	}
	r.launched, r.latest = true, make([]*process, r.cfg.Size)
	starts := make(map[*node][]Start)
	for i, n := range where {
		r.enlist(now, Original(i), n, 0, starts)
	}
	r.sendStarts(starts)
}

// differentPrograms ends the job if the nodes do not have the same program.
func (r *Root) differentPrograms() bool {
	var first *node
	for _, n := range r.nodes {
		switch {
		case !n.ready:
		case first == nil:
			first = n
		case n.program != first.program:
			r.end(1, fmt.Sprintf("the nodes have different programs: %s is %s on node %s and %s is %s on node %s; install the same on all nodes",
				first.path, first.program, first.Name, n.path, n.program, n.Name))
			return true
		}
	}
	return false
}

// enlist makes a new process for an original rank.
func (r *Root) enlist(now time.Time, o Original, n *node, epoch int, starts map[*node][]Start) *process {
	p := &process{id: Proc(len(r.procs)), original: o, node: n, started: now}
	r.procs = append(r.procs, p)
	r.latest[o] = p
	starts[n] = append(starts[n], Start{Proc: p.id, Original: o, Epoch: epoch})
	return p
}

func (r *Root) sendStarts(starts map[*node][]Start) {
	for _, n := range r.nodes {
		if list := starts[n]; len(list) > 0 {
			r.send(n, Message{Kind: KindStart, Start: list})
		}
	}
}

// replace starts a process in the place of p, which has failed. It returns nil
// when that has to wait, or the job has been ended instead.
func (r *Root) replace(now time.Time, p *process, policy driver.SpawnPolicy, epoch int, starts map[*node][]Start) *process {
	if !p.entered && !r.enter(now, p) {
		return nil
	}
	if now.Before(p.due) {
		r.postpone(p.due)
		return nil
	}
	n := r.place(p.node, policy)
	if n == nil {
		r.end(1, fmt.Sprintf("no node is left to replace rank %d (%s)", p.original, p.reason))
		return nil
	}
	q := r.enlist(now, p.original, n, epoch, starts)
	r.note(slog.LevelInfo, "starting a replacement", "rank", int(q.original), "node", n.Name, "process", int(q.id))
	return q
}

// enter decides when p may be replaced. It returns whether it may be at all: else the job
// has been ended.
func (r *Root) enter(now time.Time, p *process) bool {
	delay, why := askedDelay, "the job was asked to end"
	if !r.failedWhenAsked(now, p) {
		var report string
		delay, report = r.ledger.enter(p, r.epoch, r.world == 0)
		if report != "" {
			r.end(1, report)
			return false
		}
		why = "losses follow one another without progress"
	}
	p.entered, p.due = true, now.Add(delay)
	if p.patience.After(p.due) {
		p.due = p.patience
	}
	if delay > 0 {
		r.note(slog.LevelWarn, "a replacement waits: "+why, "rank", int(p.original), "delay", delay)
	}
	return true
}

// joinPatience is how long after the first rank the last one may join before the user
// is told.
const joinPatience = 10 * time.Second

func (r *Root) hello(now time.Time, n *node, m Hello) {
	p := r.procOf(n, m.Proc)
	if p == nil || p.state != starting || p.discarded {
		return
	}
	if m.Version != Version {
		r.end(1, fmt.Sprintf("the program of rank %d on node %s speaks version %d of the launcher's protocol, the launcher version %d: build both from the same release",
			p.original, n.Name, m.Version, Version))
		return
	}
	p.state, p.address, p.tcp = alive, m.Address, m.TCP
	if r.joinDue.IsZero() {
		r.joinDue = now.Add(joinPatience)
	}
}

func (r *Root) joinLimit() time.Time {
	if r.world != 0 || r.joinNamed {
		return time.Time{}
	}
	return r.joinDue
}

// tickJoin names the ranks that the first world waits for, once. They may be right: a
// program may read for an hour before its zone.
func (r *Root) tickJoin(now time.Time) {
	limit := r.joinLimit()
	if limit.IsZero() || now.Before(limit) {
		return
	}
	r.joinNamed = true
	var late []*process
	for _, p := range r.latest {
		if p.state == starting {
			late = append(late, p)
		}
	}
	if len(late) > 0 { // else replacements wait, which was said
		r.note(slog.LevelWarn, "the job begins when all ranks have come to aft.Run: waiting for some that have not", "ranks", rankList(late))
	}
}

// settleStart makes the first world when all ranks have said Hello. Programs that
// never join may end as they like; the two kinds do not mix.
func (r *Root) settleStart(now time.Time) {
	var joined, plain int // have said Hello; have ended without a failure
	for _, p := range r.latest {
		switch p.state {
		case alive:
			joined++
		case left:
			plain++
		}
	}
	switch {
	case joined > 0 && plain > 0:
		r.endMixed()
	case joined == r.cfg.Size:
		r.makeWorld(now)
	case !r.restartFirst(now, plain > 0) && !r.ended && !r.anybody():
		r.endNormally()
	}
}

// endMixed: some ranks wait for one that will never come.
func (r *Root) endMixed() {
	for o, p := range r.latest {
		if p.state == left {
			r.end(max(p.code, 1), fmt.Sprintf("rank %d on node %s has ended with exit code %d before it joined the job, while others had joined",
				o, p.node.Name, p.code))
			return
		}
	}
}

// restartFirst starts again what was killed before the first world, unless the
// program is one that does not join. It reports whether it has started any, or will.
func (r *Root) restartFirst(now time.Time, plain bool) bool {
	if plain {
		return false
	}
	starts := make(map[*node][]Start)
	for _, p := range r.latest {
		if p.state == failed && !r.ended {
			r.replace(now, p, r.policy.Spawn, 0, starts)
		}
	}
	r.sendStarts(starts)
	return len(starts) > 0 || !r.retry.IsZero()
}

// postpone has replacements that have to wait looked at again.
func (r *Root) postpone(until time.Time) {
	if r.retry.IsZero() || until.Before(r.retry) {
		r.retry = until
	}
}

func (r *Root) makeWorld(now time.Time) {
	var heard, late []*process
	for _, p := range r.latest {
		if r.missed(p) {
			late = append(late, p)
		} else {
			heard = append(heard, p)
		}
	}
	g := r.newGroup(r.latest, nil)
	r.world = g.id
	r.introduce(r.latest)
	r.sendTo(heard, Message{Kind: KindMade, Made: &Made{New: g.record()}})
	r.sendTo(late, Message{Kind: KindMade, Made: &Made{New: g.record(), Stops: r.ask(now, late)}})
}

// introduce tells newcomers where everybody is, and everybody where they are.
func (r *Root) introduce(newcomers []*process) {
	var known []*process
	for _, p := range r.procs {
		if p.announced && p.state == alive {
			known = append(known, p)
		}
	}
	for _, p := range newcomers {
		p.announced = true
	}
	if len(newcomers) == 0 {
		return
	}
	r.sendTo(known, Message{Kind: KindPeers, Peers: peers(newcomers)})
	r.sendTo(newcomers, Message{Kind: KindPeers, Peers: peers(append(known, newcomers...))})
}

func peers(list []*process) []Peer {
	out := make([]Peer, len(list))
	for i, p := range list {
		out[i] = Peer{Proc: p.id, Original: p.original, Node: p.node.id, Host: p.node.Host, Address: p.address, TCP: p.tcp}
	}
	return out
}
