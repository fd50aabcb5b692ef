package control

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/demand"
)

// Root decides about a job: it takes what happens to the part that it is for, and asks all what
// follows. Its methods return what is to be done, in this order; after End they return nothing
// any more.
type Root struct {
	cfg        RootConfig
	out        *outbox
	stops      *stopRequests
	demands    *demands
	members    *membership
	deploy     *deployment
	rendezvous *rendezvous
	recovery   *recovery
	unread     unread
}

// NewRoot returns an ErrConfig that names the flag if the job is not possible.
func NewRoot(cfg RootConfig) (*Root, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	cfg.Repeats, cfg.RequeueCode = cmp.Or(cfg.Repeats, DefaultRepeats), cmp.Or(cfg.RequeueCode, requeueCode)
	r := &Root{cfg: cfg, out: &outbox{requeue: cfg.RequeueCode}, stops: &stopRequests{forwarded: make(map[int]forwarding)}}
	r.members = newMembership(cfg, r.out, r.stops)
	r.deploy = &deployment{out: r.out, members: r.members, stops: r.stops, cfg: cfg, ledger: newLedger(cfg.Repeats), spare: spareRanks{wanted: cfg.SpareRanks}}
	r.demands = &demands{out: r.out, members: r.members, stops: r.stops, decider: demand.NewDecider(), grace: cfg.Grace}
	r.rendezvous = &rendezvous{
		out: r.out, members: r.members, stops: r.stops, deploy: r.deploy, demands: r.demands, timing: cfg.Timing,
		groups: groups{all: make(map[CommID]*group)}, ops: make(map[opKey]*operation),
	}
	r.recovery = &recovery{out: r.out, members: r.members, stops: r.stops, deploy: r.deploy, meet: r.rendezvous,
		policy: complete(cfg.Policy, driver.Policy{Recovery: driver.NonShrinking, Spawn: driver.NoReuse})}
	r.rendezvous.renew = r.recovery.renew
	if cfg.Past != nil {
		r.goOn(*cfg.Past)
	}
	return r, nil
}

// Begin sends every daemon its Setup; their answer is Ready.
func (r *Root) Begin(now time.Time) []Action {
	r.members.began = now
	hosts := make(map[string]bool)
	for _, n := range r.members.nodes {
		if n.reachable() {
			hosts[n.Host] = true
		}
	}
	for _, n := range r.members.nodes {
		s := r.cfg.Setup
		s.Version, s.Node, s.Size, s.Timing = Version, n.id, r.cfg.Size, r.cfg.Timing
		s.Hosts, s.Address, s.Remote, s.Grace = len(hosts), n.Host, !n.Local, r.cfg.Grace
		r.out.send(n, Message{Kind: KindSetup, Setup: &s})
	}
	return r.out.take()
}

// Handle takes a message from a daemon. Output and credit are not for the root.
func (r *Root) Handle(now time.Time, from Node, m Message) []Action {
	n := r.members.node(from)
	if r.out.ended || n == nil || n.lost {
		return nil
	}
	switch m.Kind {
	case KindReady:
		r.deploy.ready(now, n, *m.Ready)
	case KindPulse:
		r.members.pulse(now, n, *m.Pulse)
		return r.out.take() // nothing to decide
	case KindStarted:
		for _, id := range m.Started {
			if p := r.members.of(n, id); p != nil {
				p.up = now
			}
		}
	case KindOutlived:
		for _, id := range m.Outlived {
			if p := r.members.of(n, id); p != nil {
				r.members.outlives(now, p)
			}
		}
	case KindHello:
		r.deploy.hello(now, n, *m.Hello)
		r.demands.takes = takesOf(m.Hello.Takes)
		r.signalEarly(now)
	case KindAsk:
		r.demands.ask(now, *m.Ask)
	case KindNotice:
		r.demands.notice(now, n, *m.Ask)
	case KindPassed:
		r.demands.passed(now, n, *m.Passed)
	case KindBegin:
		if p := r.members.of(n, m.Begin.Proc); p != nil {
			p.settled, p.after = unsettled, nil
			r.members.zoneBegun(now)
			r.recovery.zoneBegun(m.Begin.Policy)
		}
	case KindJoin:
		for _, j := range m.Joins {
			r.rendezvous.join(now, n, j)
		}
	case KindRevoke:
		r.rendezvous.revoke(now, *m.Revoke)
	case KindFree:
		if p := r.members.of(n, m.Free.Proc); p != nil {
			r.rendezvous.groups.giveBack(p, m.Free.Comm)
		}
	case KindSuspect:
		r.members.suspect(now, n, *m.Suspect)
	case KindStack:
		r.rendezvous.stack(n, *m.Stack)
	case KindBye:
		if p := r.members.of(n, m.Bye.Proc); p != nil {
			p.bye = true
			r.demands.without(p)
		}
	case KindExit:
		for _, e := range m.Exits {
			p := r.members.of(n, e.Proc)
			switch {
			case p == nil:
			case p.asleep():
				r.deploy.spareEnded(p, e)
			default:
				r.deploy.ledger.best.reach(e.Zone, e.Step)
			}
		}
		r.members.exits(now, n, m.Exits)
	case KindError:
		r.daemonError(n, *m.Error)
	default:
		r.out.note(slog.LevelWarn, "a daemon has sent a message that is not for the root", "node", n.Name, "kind", string(m.Kind))
	}
	r.settle(now)
	return r.out.take()
}

// Lost tells that the connection to a daemon has broken, or that it could not be
// made. certain: the daemon's own exit was seen on this machine, so that its
// processes are dead.
func (r *Root) Lost(now time.Time, from Node, why string, certain bool) []Action {
	n := r.members.node(from)
	if r.out.ended || n == nil || n.lost {
		return nil
	}
	if n.why != "" { // that was the reason
		why = n.why + " (" + why + ")"
	}
	switch {
	case !r.deploy.launched && r.cfg.Past != nil:
		r.deploy.leaveOut(now, n, why)
	case !r.deploy.launched && !n.Spare:
		n.broken = true
		r.out.end(1, fmt.Sprintf("node %s could not be started: %s", n.Name, why))
		return r.out.take()
	case !n.ready:
		r.members.loseSpare(n, why)
		r.deploy.launch(now)
	case certain:
		r.members.declareLost(n, why)
	case !n.broken:
		n.broken, n.why = true, why
		r.out.fence(n)
	}
	r.settle(now)
	return r.out.take()
}

// Signal takes a signal for all ranks: a demand if the program takes it for one, else it is forwarded. One that
// asks for the end ends a job that has no ranks yet.
func (r *Root) Signal(now time.Time, number int) []Action {
	if !r.out.ended {
		r.signal(now, number, "the launcher")
	}
	return r.out.take()
}

// Forward sends a signal to all ranks, whatever it means to them.
func (r *Root) Forward(now time.Time, number int) []Action {
	if !r.out.ended {
		r.forward(now, number)
	}
	return r.out.take()
}

func (r *Root) signal(now time.Time, number int, where string) {
	switch {
	case r.endUnstarted(number):
	case r.demands.keepEarly(now, number, where):
	case !r.demands.signal(now, number, where):
		r.forward(now, number)
	}
}

func (r *Root) forward(now time.Time, number int) {
	if Stops(number) && !r.members.anybody() { // nobody is there to hear it
		when := unstarted
		if r.deploy.launched {
			when = "while the ranks wait to be started again\n" + strings.Join(r.members.losses(), "\n")
		}
		r.out.end(128+number, fmt.Sprintf("%v %s", syscall.Signal(number), when))
		return
	}
	if Stops(number) && !r.stops.lately(now) {
		r.stops.heeded = false
		r.deploy.ledger.asked()
	}
	r.stops.forwarded[number] = forwarding{at: now, told: now}
	r.out.broadcast(Message{Kind: KindSignal, Signal: &Signal{Number: number}})
}

// GiveUp ends the job.
func (r *Root) GiveUp(report string) []Action {
	r.out.end(1, report)
	return r.out.take()
}

// Tick does what time has made due. It is called when the time of Next has come;
// calling it at other times does no harm.
func (r *Root) Tick(now time.Time) []Action {
	if r.out.ended {
		return nil
	}
	r.deploy.tick(now)
	if r.tickEarly(now); r.out.ended {
		return r.out.take()
	}
	r.tickUnread(now)
	r.members.tick(now)
	r.rendezvous.tick(now)
	r.settle(now)
	return r.out.take()
}

// Next is when Tick is wanted next; the zero time: not before something else
// happens.
func (r *Root) Next() time.Time {
	if r.out.ended {
		return time.Time{}
	}
	var next time.Time
	at := func(t time.Time) { next = earlier(next, t) }
	at(r.unread.due)
	at(r.demands.early.next())
	r.deploy.next(at)
	r.members.next(at)
	r.rendezvous.next(at)
	return next
}

// settle decides everything that can be decided now.
func (r *Root) settle(now time.Time) {
	r.demands.dropNotices(now)
	if r.out.ended || !r.deploy.launched {
		return
	}
	if r.tickEarly(now); r.out.ended {
		return
	}
	r.demands.without(r.members.over...)
	r.members.over = nil
	r.deploy.retry = time.Time{}
	ended, waits := r.recovery.abort(now)
	switch {
	case ended:
	case r.members.world != nil:
		r.recovery.settle(now)
	case waits && !r.members.anybody() && r.deploy.retry.IsZero():
		r.members.endNormally()
	case waits:
	case r.deploy.settle(now, r.recovery.policy.Spawn):
		r.rendezvous.makeWorld(now)
	}
	if !r.recovery.renewing() { // which comes first
		r.deploy.startSpares(now, r.recovery.policy.Spawn)
	}
}

func (r *Root) daemonError(n *node, e Error) {
	switch {
	case e.Ends || r.cfg.Past != nil && !n.ready:
		// For when its end is seen. What the root has fenced it for comes before.
		n.why = cmp.Or(n.why, e.Text)
	case r.members.world == nil:
		r.out.end(1, fmt.Sprintf("node %s: %s", n.Name, e.Text))
	default:
		r.out.note(slog.LevelError, "a daemon reports an error", "node", n.Name, "error", e.Text)
	}
}

// Communicators is how many there are that somebody may use.
func (r *Root) Communicators() int { return len(r.rendezvous.groups.all) }
