package control

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/craft-go/craft/internal/demand"
)

// Daemon decides about the processes of one node. Its methods return what is to
// be done, in this order; after End they return nothing any more. Whoever runs it
// sends Ready itself, when it has got its Setup.
type Daemon struct {
	setup Setup
	ranks map[Proc]*local
	held  map[opKey]*heldJoins
	// local members of each communicator
	groups map[CommID][]Proc
	// revoked: some communicator was, so that nobody may wait for a split.
	revoked bool
	// asksRevoked are those that processes here have asked to be revoked, since the root has
	// last told of an outcome or a failure.
	asksRevoked map[Revoke]bool
	// everybody: when this process has got a signal itself; see Signalled.
	everybody map[int]time.Time
	// passed: when one of the root was passed on to all ranks.
	passed map[int]time.Time
	// forwarded: the same, for those that are started later.
	forwarded map[int]forwardedSignal
	demands   nodeDemands

	seq   uint64
	sent  []sentPulse   // not answered yet
	lease time.Time     // when it ends; zero: nothing has happened yet
	asked time.Duration // how long the host had slept when the lease was asked for
	slept time.Duration // and by now
	usual bool          // the root gives the usual lease: no answer on its way gives a longer one
	pulse time.Time     // when the next one is due
	ended bool
	out   []DaemonAction
}

// sentPulse is a pulse that the root has not answered yet.
type sentPulse struct {
	seq   uint64
	at    time.Time
	slept time.Duration
}

// Slept tells how long the host has slept in all. It comes before any event that
// may be the first one after a sleep. The root may have given up a node that sleeps:
// see Leases in the package's documentation.
func (d *Daemon) Slept(total time.Duration) {
	if d.lease.IsZero() {
		d.asked = total
	}
	d.slept = total
}

// local is what the daemon knows of a process of its node.
type local struct {
	id       Proc
	joined   bool // has said Hello
	bye      bool
	outlived bool      // it goes on, but the program has ended that it has started
	away     bool      // waits at the end of the zone: takes part in nothing else
	waits    bool      // for the answer to another operation than the end of the zone
	heard    time.Time // since Hello
	progress progress
	killed   bool
	why      string // it was killed
	evicted  bool   // because of a roll-back
	// stopped: since when, by a signal; zero: it is not, or nobody can tell.
	stopped time.Time
	started time.Time // the order to start it came
	// replaces: it takes the place of another one and has no communicator yet: others wait
	// for it to get one, so that signals wait too.
	replaces bool
	// asleep: it is a spare rank, and gives no signs of life.
	asleep bool
	missed missedSignals
	takes  map[int]demand.Takes // what the program does with signals
}

// NewDaemon returns the machine of the node that setup is for.
func NewDaemon(setup Setup) *Daemon {
	return &Daemon{
		setup:  setup,
		ranks:  make(map[Proc]*local),
		held:   make(map[opKey]*heldJoins),
		groups: make(map[CommID][]Proc), asksRevoked: make(map[Revoke]bool),

		everybody: make(map[int]time.Time), passed: make(map[int]time.Time), forwarded: make(map[int]forwardedSignal),
	}
}

// FromRoot takes a message from the root. Credit is not for the machine.
func (d *Daemon) FromRoot(now time.Time, m Message) []DaemonAction {
	if d.ended {
		return nil
	}
	if m.Kind == KindPulse {
		d.renew(now, *m.Pulse)
	}
	if d.expired(now) {
		return d.take()
	}
	switch m.Kind {
	case KindStart:
		d.start(now, m.Start)
	case KindSignal:
		d.signal(now, *m.Signal)
	case KindStop:
		d.stop("the job has ended", EndDaemon{})
	case KindMade:
		d.learn(now, m)
		d.pass(m)
		d.catchUp(now, m)
		d.flush(now)
	case KindRevoke:
		d.revoked = true
		d.pass(m)
		d.flush(now)
	case KindFailed:
		clear(d.asksRevoked) // with a failure it says more
		d.pass(m)
	case KindHold:
		d.hold(m)
		d.pass(m)
		d.flush(now)
	case KindPeers, KindStack, KindMeet:
		d.pass(m)
	}
	return d.take()
}

// FromRank takes a message of a process of the node, which speaks for itself only.
func (d *Daemon) FromRank(now time.Time, id Proc, m Message) []DaemonAction {
	return d.of(now, id, func(p *local) {
		p.heard = now
		d.said(now, p, m)
	})
}

// of has an event of a process handled, unless that has ended or the lease has.
func (d *Daemon) of(now time.Time, id Proc, event func(p *local)) []DaemonAction {
	p := d.ranks[id]
	if d.ended || p == nil {
		return nil
	}
	if !d.expired(now) {
		event(p)
	}
	return d.take()
}

// said does what a message of p is about.
func (d *Daemon) said(now time.Time, p *local, m Message) {
	id := p.id
	switch m.Kind {
	case KindHello:
		h := *m.Hello
		h.Proc = id
		p.joined, p.takes = true, takesOf(h.Takes)
		d.up(Message{Kind: KindHello, Hello: &h})
	case KindBegin:
		p.missed.due = now.Add(missedDelay)
		d.up(Message{Kind: KindBegin, Begin: &Begin{Proc: id, Policy: m.Begin.Policy}})
	case KindAsk:
		d.ask(now, *m.Ask)
	case KindPassed:
		if m.Passed.Changed || m.Passed.Stored {
			d.up(Message{Kind: KindPassed, Passed: &Passed{Procs: []Proc{id}, Passed: m.Passed.Passed}})
			break
		}
		d.demands.answer(id, m.Passed.Passed)
		d.flushAnswers()
	case KindJoin:
		for _, j := range m.Joins {
			j.Proc = id
			d.gather(now, p, j)
		}
		d.flush(now)
	case KindBye:
		p.bye = true
		d.up(Message{Kind: KindBye, Bye: &Bye{Proc: id}})
		d.flush(now)
	case KindPulse:
		p.progress.reach(m.Pulse.Zone, m.Pulse.Step)
		if rest := min(d.lease.Sub(now)-(d.slept-d.asked), d.setup.Timing.Lease); rest > 0 {
			d.down(id, Message{Kind: KindPulse, Pulse: &Pulse{Seq: m.Pulse.Seq, Left: rest}})
		}
	case KindRevoke:
		d.askRevoked(p, m)
	case KindFree:
		d.free(id, m.Free.Comm)
		d.flush(now)
	case KindStack:
		d.up(Message{Kind: KindStack, Stack: &Stack{Proc: id, Text: m.Stack.Text}})
	case KindSuspect:
		s := *m.Suspect
		if s.Proc == id { // it has lost its lease, or is evicted, and is about to end itself
			p.evicted = s.Evicted
			d.kill(p, sigkill, s.Why)
			break
		}
		s.By = id
		d.up(Message{Kind: KindSuspect, Suspect: &s})
	}
}

// Exited takes the end of a process, or that it could not be started (Code -1,
// no signal, Why). What it has written was forwarded before.
func (d *Daemon) Exited(now time.Time, e Exit) []DaemonAction {
	return d.of(now, e.Proc, func(p *local) {
		delete(d.ranks, e.Proc)
		e.Zone, e.Step = p.progress.zone, p.progress.step
		e.Fenced = e.Signal == sigkill && !p.outlived && (p.why != "" || isDue(now, d.silentUntil(p)))
		e.Evicted = e.Fenced && p.evicted
		if p.why != "" && e.Signal != 0 {
			e.Why = fmt.Sprintf("%s (%s)", e.reason(), p.why)
		}
		d.up(Message{Kind: KindExit, Exits: []Exit{e}})
		d.flush(now)
	})
}

// Stopped tells that a process was stopped by a signal, or goes on.
func (d *Daemon) Stopped(now time.Time, id Proc, stopped bool) []DaemonAction {
	return d.of(now, id, func(p *local) {
		p.stopped = time.Time{}
		if stopped {
			p.stopped = now
		}
	})
}

// LostRoot ends everything: the connection to the root has broken.
func (d *Daemon) LostRoot(_ time.Time, why string) []DaemonAction {
	if d.ended {
		return nil
	}
	d.stop(why, EndDaemon{Code: 1, Why: why})
	return d.take()
}

// Tick does what time has made due: see Next.
func (d *Daemon) Tick(now time.Time) []DaemonAction {
	if d.ended {
		return nil
	}
	if d.expired(now) {
		return d.take()
	}
	if !now.Before(d.pulse) {
		d.beat(now)
	}
	for _, p := range d.list() {
		if isDue(now, d.silentUntil(p)) {
			d.kill(p, sigkill, fmt.Sprintf("no sign of life for %v", d.setup.Timing.Lease))
		}
		d.deliver(now, p)
	}
	d.flush(now)
	return d.take()
}

// Next is when Tick is wanted next; before the first event: at once.
func (d *Daemon) Next() time.Time {
	if d.ended {
		return time.Time{}
	}
	if d.lease.IsZero() {
		return time.Unix(0, 0)
	}
	next := earlier(d.pulse, d.lease)
	for _, p := range d.ranks {
		next = earlier(next, d.silentUntil(p))
		if p.mayDeliver() {
			next = earlier(next, p.missed.due)
		}
	}
	for _, h := range d.held {
		next = earlier(next, h.until)
	}
	return next
}

// expired ends everything when the lease has run out, and sets the clocks at the
// first event. It comes before anything else: who was stopped for a while must not
// go on.
func (d *Daemon) expired(now time.Time) bool {
	if d.lease.IsZero() {
		d.lease, d.pulse = now.Add(d.setup.Timing.atStart()), now
		if d.setup.Timing.Lease == NoLease {
			d.pulse = d.lease
		}
	}
	if now.Before(d.lease) {
		return false
	}
	why := fmt.Sprintf("no sign of life of the root for %v", d.setup.Timing.Lease)
	d.stop(why, EndDaemon{Code: 1, Why: why})
	return true
}

func (d *Daemon) beat(now time.Time) {
	d.seq++
	d.sent = append(d.sent, sentPulse{d.seq, now, d.slept})
	d.pulse = now.Add(d.setup.Timing.Period)
	d.sent = slices.DeleteFunc(d.sent, func(s sentPulse) bool {
		return now.Sub(s.at) > d.setup.Timing.atStart() // of no use any more
	})
	left := d.lease.Sub(now)
	if !d.usual {
		left = d.setup.Timing.atStart() // an answer that is on its way may give as much
	}
	d.up(Message{Kind: KindPulse, Pulse: &Pulse{Seq: d.seq, Step: -1, Left: left}})
}

// renew takes the root's answer to a pulse: the lease counts from when it was
// sent. What is left of a longer one, of the start, is given back, so that the root
// need not wait for its end.
func (d *Daemon) renew(now time.Time, answer Pulse) {
	d.usual = d.usual || answer.Left < d.setup.Timing.atStart()
	if usual := now.Add(answer.Left); d.lease.After(usual) {
		d.lease = usual
	}
	for _, s := range d.sent {
		if s.seq == answer.Seq {
			if until := s.at.Add(answer.Left); !until.Before(d.lease) {
				d.lease, d.asked = until, s.slept
			}
		}
	}
	d.sent = slices.DeleteFunc(d.sent, func(s sentPulse) bool { return s.seq <= answer.Seq })
}

// silentUntil is when a silent process is killed; the zero time: it may be silent. Who has not joined
// yet, or has left, is asleep, or whose program has ended, gives no signs of life, but is not to be stopped
// either: others may wait for it.
func (d *Daemon) silentUntil(p *local) time.Time {
	since := p.stopped
	if p.joined && !p.bye && !p.outlived && !p.asleep {
		since = p.heard
	}
	if p.killed || since.IsZero() {
		return time.Time{}
	}
	return since.Add(d.setup.Timing.Lease)
}

func (d *Daemon) start(now time.Time, list []Start) {
	for _, s := range list {
		d.ranks[s.Proc] = &local{id: s.Proc, started: now, replaces: s.Epoch > 0 || s.Original == Asleep, asleep: s.Original == Asleep, progress: progress{step: NoStep}}
		d.out = append(d.out, DaemonAction{Start: &s})
	}
}

func (d *Daemon) kill(p *local, number int, why string) {
	if number == sigkill {
		p.killed, p.why = true, cmp.Or(p.why, why)
	}
	d.out = append(d.out, DaemonAction{Kill: &Kill{Proc: p.id, Signal: number, Why: why}})
}

func (d *Daemon) stop(why string, end EndDaemon) {
	for _, p := range d.list() {
		d.kill(p, sigkill, why)
	}
	d.out = append(d.out, DaemonAction{End: &end})
	d.ended = true
}

// pass hands a message on to processes of the node that have joined.
func (d *Daemon) pass(m Message) {
	to, body := d.recipients(m), new(Body)
	m.To = nil
	for _, p := range to {
		if p.joined && !p.outlived {
			d.out = append(d.out, DaemonAction{ToRank: &ToRank{Proc: p.id, Message: m, Body: body}})
		}
	}
}

// recipients are those of the node that a message of the root is for, in the order of their start.
func (d *Daemon) recipients(m Message) []*local {
	if len(m.To) == 0 {
		return d.list()
	}
	return only(d.list(), func(p *local) bool { return slices.Contains(m.To, p.id) })
}

// list are the processes that have not ended, in the order of their start.
func (d *Daemon) list() []*local {
	return slices.SortedFunc(maps.Values(d.ranks), func(a, b *local) int { return cmp.Compare(a.id, b.id) })
}

func (d *Daemon) up(m Message) { d.out = append(d.out, DaemonAction{ToRoot: &m}) }

func (d *Daemon) down(p Proc, m Message) {
	d.out = append(d.out, DaemonAction{ToRank: &ToRank{Proc: p, Message: m}})
}

func (d *Daemon) take() []DaemonAction {
	out := d.out
	d.out = nil
	return out
}
