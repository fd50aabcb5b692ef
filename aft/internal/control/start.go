package control

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
)

// ready notes a daemon that is there; when all are, the first processes start.
func (d *deployment) ready(now time.Time, n *node, m Ready) {
	if n.ready {
		return
	}
	if m.Version != Version {
		d.out.end(1, fmt.Sprintf("node %s (%s) has version %d of the launcher, here it is version %d: install the same on all nodes",
			n.Name, m.Host, m.Version, Version))
		return
	}
	n.ready, n.program, n.path = true, m.Program, m.Path
	n.heard, n.due = now, now.Add(d.members.lease(now)+d.cfg.Timing.Margin)
	d.members.watch(n)
	d.launch(now)
}

// launch starts the first processes when every node has reported or, as a spare
// one, is lost.
func (d *deployment) launch(now time.Time) {
	if d.launched || d.out.ended {
		return
	}
	for ; d.reported < len(d.members.nodes); d.reported++ {
		if n := d.members.nodes[d.reported]; !n.ready && !((n.Spare || d.cfg.Past != nil) && !n.reachable()) {
			return
		}
	}
	if d.differentPrograms() {
		return
	}
	if d.cfg.Past != nil {
		d.standIn(d.cfg)
	}
	where := blocks(d.cfg.Size, d.members.nodes)
	if where == nil {
		d.out.end(1, fmt.Sprintf("no nodes are left for %d ranks", d.cfg.Size))
		return
	}
	d.launched, d.members.latest = true, make([]*process, d.cfg.Size)
	var first []*process
	for i, n := range where {
		first = append(first, d.members.enlist(now, Original(i), n))
	}
	d.send(first, 0)
}

// differentPrograms ends the job if the nodes do not have the same program.
func (d *deployment) differentPrograms() bool {
	var first *node
	for _, n := range d.members.nodes {
		switch {
		case !n.ready:
		case first == nil:
			first = n
		case n.program != first.program:
			d.out.end(1, fmt.Sprintf("the nodes have different programs: %s is %s on node %s and %s is %s on node %s; install the same on all nodes",
				first.path, first.program, first.Name, n.path, n.program, n.Name))
			return true
		}
	}
	return false
}

// joinPatience is how long after the first rank the last one may join before the user
// is told.
const joinPatience = 10 * time.Second

func (d *deployment) hello(now time.Time, n *node, m Hello) {
	p := d.members.of(n, m.Proc)
	if p == nil || p.state != starting || p.discarded {
		return
	}
	if m.Version != Version {
		d.out.end(1, fmt.Sprintf("the program of rank %d on node %s speaks version %d of the launcher's protocol, the launcher version %d: build both from the same release",
			p.original, n.Name, m.Version, Version))
		return
	}
	p.join(contact{address: m.Address, tcp: m.TCP, takes: takesOf(m.Takes)})
	if d.joinDue.IsZero() {
		d.joinDue = now.Add(joinPatience)
	}
}

func (d *deployment) joinLimit() time.Time {
	if d.members.world != nil || d.joinNamed {
		return time.Time{}
	}
	return d.joinDue
}

// tickJoin names the ranks that the first world waits for, once. They may be right: a
// program may read for an hour before its zone.
func (d *deployment) tickJoin(now time.Time) {
	if !isDue(now, d.joinLimit()) {
		return
	}
	d.joinNamed = true
	late := only(d.members.latest, func(p *process) bool { return p.state == starting })
	if len(late) > 0 { // else replacements wait, which was said
		d.out.note(slog.LevelWarn, "the job begins when all ranks have come to aft.Run: waiting for some that have not", "ranks", rankList(late))
	}
}

// settle reports whether the first world can be made: all ranks have said Hello. Programs that
// never join may end as they like; the two kinds do not mix.
func (d *deployment) settle(now time.Time, policy driver.SpawnPolicy) bool {
	if c := d.members.census; c.starting > 0 && c.ends == 0 {
		return false // they are still to come: not looked for at each Hello
	}
	joined, plain := 0, (*process)(nil) // how many have said Hello; the first that has ended without a failure
	for _, p := range d.members.latest {
		switch {
		case p.state == alive:
			joined++
		case p.state == left && plain == nil:
			plain = p
		}
	}
	switch {
	case joined > 0 && plain != nil && (jobCode{d.members}).endAsked([]*process{plain}): // before it could know what it was asked
	case joined > 0 && plain != nil: // they wait for one that will never come
		d.out.end(max(plain.code, 1), fmt.Sprintf("rank %d on node %s has ended with exit code %d before it joined the job, while others had joined",
			plain.original, plain.node.Name, plain.code))
	case joined == d.cfg.Size:
		return true
	case (plain != nil || !d.restartFirst(now, policy)) && !d.out.ended && !d.members.anybody():
		d.members.endNormally()
	}
	return false
}

// restartFirst starts again what was killed before the first world. It reports whether it has
// started any, or will.
func (d *deployment) restartFirst(now time.Time, policy driver.SpawnPolicy) bool {
	s, wanted := newSpawning(policy, 0, 0), make(map[Original]*process)
	for o, p := range d.members.latest {
		if p.state == failed {
			wanted[Original(o)] = p
		}
	}
	d.start(now, s, wanted)
	return len(s.current) > 0 || !d.retry.IsZero()
}

func (d *deployment) startLimit() time.Time {
	if d.launched || d.cfg.Timing.Start == 0 || d.members.began.IsZero() {
		return time.Time{}
	}
	return d.members.began.Add(d.cfg.Timing.Start)
}

// tickStart ends a job whose nodes do not report. It begins without spare ones, which nobody
// needs yet.
func (d *deployment) tickStart(now time.Time) {
	if !isDue(now, d.startLimit()) {
		return
	}
	why := fmt.Sprintf("has not reported within %v", d.cfg.Timing.Start)
	for _, n := range d.members.nodes {
		switch {
		case n.ready || !n.reachable():
		case n.Spare || d.cfg.Past != nil:
			d.out.fence(n)
			d.members.loseSpare(n, "it "+why)
		default:
			d.out.end(1, fmt.Sprintf("node %s %s", n.Name, why))
			return
		}
	}
	d.launch(now)
}

func (d *deployment) tick(now time.Time) {
	d.tickStart(now)
	d.tickJoin(now)
}

func (d *deployment) next(at func(time.Time)) {
	at(d.startLimit())
	at(d.joinLimit())
	at(d.retry)
}
