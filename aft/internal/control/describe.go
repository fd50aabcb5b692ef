package control

import "github.com/craft-go/craft/internal/demand"

// What messages are made of, in the order in which it travels: see coder. Each field of a type has its line here, and
// TestEveryFieldTravels finds one that has none. A change here is a change of the protocol: see Version.

// kinds and ops have names in the order of their numbers.
var (
	kinds = []Kind{
		KindReady, KindHello, KindBegin, KindJoin, KindRevoke, KindFree, KindSuspect, KindBye, KindExit, KindPulse,
		KindStack, KindOutput, KindCredit, KindError, KindStarted, KindGone, KindOutlived, KindSetup, KindStart,
		KindPeers, KindMade, KindFailed, KindSignal, KindStop, KindInherit, KindBequest, KindAsk, KindHold, KindPassed, KindMeet, KindNotice,
	}
	ops = []Op{"", OpAgree, OpShrink, OpSplit, OpSpawn, OpRepair, OpEnd}
)

// addressFields is what a message begins with, and what differs in those that share a Body.
func addressFields(c *coder, m *Message) {
	if version := c.number(Version); version != Version {
		c.fail("%w: it is version %d, this program has version %d: build both from the same release", ErrVersion, version, Version)
	}
	oneOf(c, &m.Kind, kinds)
	numbers(c, &m.To, unsigned)
}

// contentFields is all the rest.
func contentFields(c *coder, m *Message) {
	pointerField(c, 1, &m.Ready, readyFields)
	pointerField(c, 2, &m.Hello, helloFields)
	pointerField(c, 3, &m.Begin, beginFields)
	if c.field(4, len(m.Joins) > 0) {
		list(c, &m.Joins, joinFields)
	}
	pointerField(c, 5, &m.Revoke, revokeFields)
	pointerField(c, 6, &m.Free, freeFields)
	pointerField(c, 7, &m.Suspect, suspectFields)
	pointerField(c, 8, &m.Bye, byeFields)
	if c.field(9, len(m.Exits) > 0) {
		list(c, &m.Exits, exitFields)
	}
	pointerField(c, 10, &m.Pulse, pulseFields)
	pointerField(c, 11, &m.Output, outputFields)
	if c.field(12, m.Credit != 0) {
		signed(c, &m.Credit)
	}
	pointerField(c, 13, &m.Error, errorFields)
	pointerField(c, 14, &m.Setup, setupFields)
	if c.field(15, len(m.Start) > 0) {
		list(c, &m.Start, startFields)
	}
	if c.field(16, len(m.Peers) > 0) {
		list(c, &m.Peers, peerFields)
	}
	pointerField(c, 17, &m.Made, madeFields)
	for i, procs := range []*[]Proc{&m.Failed, &m.Left, &m.Away, &m.Started, &m.Outlived} {
		if c.field(byte(18+i), len(*procs) > 0) {
			numbers(c, procs, unsigned)
		}
	}
	pointerField(c, 23, &m.Signal, signalFields)
	pointerField(c, 24, &m.Stack, stackFields)
	pointerField(c, 25, &m.Inherit, inheritFields)
	if c.field(26, len(m.Bequests) > 0) {
		list(c, &m.Bequests, bequestFields)
	}
	pointerField(c, 27, &m.Ask, demandFields)
	pointerField(c, 28, &m.Hold, holdFields)
	pointerField(c, 29, &m.Passed, passedFields)
	pointerField(c, 30, &m.Meet, meetFields)
}

func readyFields(c *coder, r *Ready) {
	signed(c, &r.Version)
	text(c, &r.Host)
	signed(c, &r.PID)
	text(c, &r.Program)
	text(c, &r.Path)
}

func helloFields(c *coder, h *Hello) {
	unsigned(c, &h.Proc)
	signed(c, &h.Version)
	text(c, &h.Address)
	text(c, &h.TCP)
	list(c, &h.Takes, func(c *coder, t *Take) {
		signed(c, &t.Signal)
		unsigned(c, &t.Takes)
	})
}

func beginFields(c *coder, b *Begin) {
	unsigned(c, &b.Proc)
	pointer(c, &b.Policy, policyFields)
}

func joinFields(c *coder, j *Join) {
	unsigned(c, &j.Proc)
	unsigned(c, &j.Comm)
	unsigned(c, &j.Seq)
	oneOf(c, &j.Op, ops)
	unsigned(c, &j.Flags)
	numbers(c, &j.Acknowledged, unsigned)
	signed(c, &j.Color)
	signed(c, &j.Key)
	c.bool(&j.Lasting)
	numbers(c, &j.Missing, signed)
	c.bool(&j.InZone)
	pointer(c, &j.Policy, policyFields)
	pointer(c, &j.Verdict, verdictFields)
	signed(c, &j.Step)
}

func madeFields(c *coder, m *Made) {
	unsigned(c, &m.Comm)
	unsigned(c, &m.Seq)
	oneOf(c, &m.Op, ops)
	unsigned(c, &m.Flags)
	numbers(c, &m.Failed, unsigned)
	c.bool(&m.Revoked)
	numbers(c, &m.Returned, unsigned)
	text(c, &m.Err)
	if m.Err != "" { // few have one, and there is one of these for each node
		unsigned(c, &m.Ends)
	}
	pointer(c, &m.New, groupFields)
	pointer(c, &m.Change, changeFields)
	pointer(c, &m.Outcome, outcomeFields)
	signed(c, &m.Epoch)
	signed(c, &m.Zone)
	list(c, &m.ZoneErrors, zoneErrorFields)
	c.bool(&m.Replacement)
	numbers(c, &m.Stops, signed)
}

func groupFields(c *coder, g *Group) {
	unsigned(c, &g.ID)
	numbers(c, &g.Procs, unsigned)
	pointer(c, &g.Since, differenceFields)
	c.bool(&g.Lasting)
}

func differenceFields(c *coder, d *Difference) {
	unsigned(c, &d.Of)
	list(c, &d.Replaced, func(c *coder, r *Replaced) {
		unsigned(c, &r.Proc)
		unsigned(c, &r.By)
	})
	numbers(c, &d.Without, unsigned)
	list(c, &d.Added, func(c *coder, a *Added) {
		signed(c, &a.Rank)
		unsigned(c, &a.Proc)
	})
}

func revokeFields(c *coder, r *Revoke) {
	unsigned(c, &r.Comm)
	c.bool(&r.Derived)
}

func suspectFields(c *coder, s *Suspect) {
	unsigned(c, &s.Proc)
	text(c, &s.Why)
	c.bool(&s.Cut)
	unsigned(c, &s.By)
	c.bool(&s.Evicted)
}

func inheritFields(c *coder, i *Inherit) {
	unsigned(c, &i.From)
	unsigned(c, &i.To)
}

func freeFields(c *coder, f *Free) {
	unsigned(c, &f.Proc)
	unsigned(c, &f.Comm)
}

func byeFields(c *coder, b *Bye) { unsigned(c, &b.Proc) }

func exitFields(c *coder, e *Exit) {
	unsigned(c, &e.Proc)
	signed(c, &e.Code)
	signed(c, &e.Signal)
	text(c, &e.Why)
	text(c, &e.Panic)
	c.bool(&e.Fenced)
	c.bool(&e.Evicted)
	signed(c, &e.Zone)
	signed(c, &e.Step)
	signed(c, &e.Ago)
}

func pulseFields(c *coder, p *Pulse) {
	unsigned(c, &p.Seq)
	signed(c, &p.Zone)
	signed(c, &p.Step)
	signed(c, &p.Left)
}

func outputFields(c *coder, o *Output) {
	unsigned(c, &o.Proc)
	signed(c, &o.Stream)
	c.bytes(&o.Data)
}

func stackFields(c *coder, s *Stack) {
	unsigned(c, &s.Proc)
	text(c, &s.Text)
}

func errorFields(c *coder, e *Error) {
	text(c, &e.Text)
	c.bool(&e.Ends)
}

func setupFields(c *coder, s *Setup) {
	signed(c, &s.Version)
	text(c, &s.Job)
	c.bytes(&s.Secret)
	signed(c, &s.Node)
	text(c, &s.Program)
	list(c, &s.Args, text)
	text(c, &s.Dir)
	list(c, &s.Env, text)
	signed(c, &s.Size)
	signed(c, &s.Hosts)
	text(c, &s.Address)
	text(c, &s.NodePath)
	timingFields(c, &s.Timing)
	c.bool(&s.Remote)
	signed(c, &s.Grace)
	text(c, &s.Daemon)
	unsigned(c, &s.Up)
}

func timingFields(c *coder, t *Timing) {
	signed(c, &t.Period)
	signed(c, &t.Lease)
	signed(c, &t.Margin)
	signed(c, &t.Start)
	signed(c, &t.Repair)
}

func startFields(c *coder, s *Start) {
	unsigned(c, &s.Proc)
	signed(c, &s.Original)
	signed(c, &s.Epoch)
}

func peerFields(c *coder, p *Peer) {
	unsigned(c, &p.Proc)
	signed(c, &p.Original)
	signed(c, &p.Node)
	text(c, &p.Host)
	text(c, &p.Address)
	text(c, &p.TCP)
}

func signalFields(c *coder, s *Signal) {
	signed(c, &s.Number)
	numbers(c, &s.Procs, unsigned)
	text(c, &s.Why)
}

func demandFields(c *coder, d *demand.Demand) {
	text(c, &d.ID)
	unsigned(c, &d.Cause)
	text(c, &d.Source)
	signed(c, &d.Left)
	text(c, &d.For)
	c.bool(&d.Planned)
}

func holdFields(c *coder, h *demand.Hold) {
	unsigned(c, &h.Serial)
	list(c, &h.Demands, demandFields)
	c.bool(&h.Told)
}

func passedFields(c *coder, p *Passed) {
	numbers(c, &p.Procs, unsigned)
	unsigned(c, &p.Serial)
	list(c, &p.Lanes, positionFields)
	c.bool(&p.Changed)
	c.bool(&p.Stored)
}

func meetFields(c *coder, m *demand.Meet) {
	unsigned(c, &m.Serial)
	list(c, &m.Lanes, positionFields)
}

func positionFields(c *coder, p *demand.Position) {
	text(c, &p.Lane)
	unsigned(c, &p.Calls)
	c.bool(&p.Open)
}
