package control

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/demand"
)

// What a message may hold at most.
const (
	MaxProcs  = 1 << 16 // processes, ranks or nodes in one list
	MaxOutput = 64 << 10
	maxString = 1 << 20
	maxCredit = 1 << 30
	// lastSignal is the largest number of one.
	lastSignal = 64

	maxName    = 4 << 10 // bytes of what names a demand or a lane
	maxDemands = 1 << 10 // of one Hold
)

// Validate reports whether m is a message that its receiver can rely on: of a known
// kind, with the field of this kind, and nothing beyond the bounds. The error is
// an ErrMessage.
func (m Message) Validate() error {
	check, ok := checks[m.Kind]
	if !ok {
		return fmt.Errorf("%w: unknown kind %.32q", ErrMessage, m.Kind)
	}
	if len(m.To) > MaxProcs {
		return fmt.Errorf("%w: %s for %d processes, at most %d are allowed", ErrMessage, m.Kind, len(m.To), MaxProcs)
	}
	if err := check(m); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrMessage, m.Kind, err)
	}
	return nil
}

var checks = map[Kind]func(Message) error{
	KindReady:    func(m Message) error { return field(m.Ready, (*Ready).check) },
	KindHello:    func(m Message) error { return field(m.Hello, (*Hello).check) },
	KindBegin:    func(m Message) error { return field(m.Begin, nil) },
	KindJoin:     func(m Message) error { return each("joins", m.Joins, 1, Join.check) },
	KindRevoke:   func(m Message) error { return field(m.Revoke, nil) },
	KindFree:     func(m Message) error { return field(m.Free, nil) },
	KindSuspect:  func(m Message) error { return field(m.Suspect, (*Suspect).check) },
	KindBye:      func(m Message) error { return field(m.Bye, nil) },
	KindExit:     func(m Message) error { return each("exits", m.Exits, 1, Exit.check) },
	KindPulse:    func(m Message) error { return field(m.Pulse, nil) },
	KindStack:    func(m Message) error { return field(m.Stack, (*Stack).check) },
	KindOutput:   func(m Message) error { return field(m.Output, (*Output).check) },
	KindCredit:   func(m Message) error { return inRange("bytes", m.Credit, 1, maxCredit) },
	KindInherit:  func(m Message) error { return field(m.Inherit, nil) },
	KindBequest:  func(m Message) error { return each("bequests", m.Bequests, 1, checkBequest) },
	KindGone:     func(Message) error { return nil },
	KindStarted:  func(m Message) error { return count("processes", len(m.Started), 1) },
	KindOutlived: func(m Message) error { return count("processes", len(m.Outlived), 1) },
	KindError:    func(m Message) error { return field(m.Error, (*Error).check) },
	KindSetup: func(m Message) error {
		// Start: of the process that a daemon hands its setup to.
		return cmp.Or(field(m.Setup, (*Setup).check), each("starts", m.Start, 0, Start.check))
	},
	KindStart: func(m Message) error { return each("starts", m.Start, 1, Start.check) },
	KindPeers: func(m Message) error { return each("peers", m.Peers, 1, Peer.check) },
	KindMade:  func(m Message) error { return field(m.Made, (*Made).check) },
	KindFailed: func(m Message) error {
		return count("processes", len(m.Failed)+len(m.Left)+len(m.Away), 1)
	},
	KindSignal: func(m Message) error { return field(m.Signal, (*Signal).check) },
	KindStop:   func(Message) error { return nil },
	KindAsk:    func(m Message) error { return field(m.Ask, checkDemand) },
	KindNotice: func(m Message) error { return field(m.Ask, checkDemand) },
	KindHold:   func(m Message) error { return field(m.Hold, checkHold) },
	KindPassed: func(m Message) error { return field(m.Passed, (*Passed).check) },
	KindMeet:   func(m Message) error { return field(m.Meet, checkMeet) },
}

// field checks the field of a message's kind, which must be there.
func field[T any](f *T, check func(*T) error) error {
	switch {
	case f == nil:
		return errors.New("its field is missing")
	case check == nil:
		return nil
	}
	return check(f)
}

// each checks a list and what is in it.
func each[T any](what string, list []T, least int, check func(T) error) error {
	if err := count(what, len(list), least); err != nil {
		return err
	}
	for _, v := range list {
		if err := check(v); err != nil {
			return err
		}
	}
	return nil
}

func count(what string, n, least int) error { return inRange(what, n, least, MaxProcs) }

func stringsFit(list ...string) error {
	for _, s := range list {
		if len(s) > maxString {
			return fmt.Errorf("a text of %d bytes, at most %d are allowed", len(s), maxString)
		}
	}
	return nil
}

func inRange(what string, value, low, high int) error {
	if value < low || value > high {
		return fmt.Errorf("%s %d, allowed are %d to %d", what, value, low, high)
	}
	return nil
}

func checkOriginal(o Original) error {
	return inRange("original rank", int(o), 0, MaxProcs-1)
}

func checkNode(n Node) error { return inRange("node", int(n), 0, MaxProcs-1) }

// CheckOriginals reports whether these can be original ranks.
func CheckOriginals(list []Original) error { return each("ranks", list, 0, checkOriginal) }

func (r *Ready) check() error { return stringsFit(r.Host, r.Program, r.Path) }
func (h *Hello) check() error {
	return cmp.Or(stringsFit(h.Address, h.TCP), each("signals", h.Takes, 0, Take.check))
}
func (s *Suspect) check() error { return stringsFit(s.Why) }
func (s *Stack) check() error   { return stringsFit(s.Text) }
func (e *Error) check() error   { return stringsFit(e.Text) }
func checkBequest(b driver.Bequest) error {
	return cmp.Or(stringsFit(b.Name), count("memory", len(b.Memory), 1))
}

func (t Take) check() error {
	return cmp.Or(inRange("signal", t.Signal, 1, lastSignal), inRange("use of a signal", int(t.Takes), 0, int(demand.TakesKinds)-1))
}

func checkDemand(d *demand.Demand) error {
	if d.Left < demand.NoLimit {
		return fmt.Errorf("%v are left of the time for a demand", d.Left)
	}
	return cmp.Or(namesFit(d.ID, d.Source, d.For), inRange("cause", int(d.Cause), 0, int(demand.Causes)-1))
}

func checkHold(h *demand.Hold) error {
	return cmp.Or(inRange("demands", len(h.Demands), 0, maxDemands), each("demands", h.Demands, 0, func(d demand.Demand) error { return checkDemand(&d) }))
}

func (p *Passed) check() error {
	return cmp.Or(count("processes", len(p.Procs), 0), checkLanes(p.Lanes))
}

func checkMeet(m *demand.Meet) error { return checkLanes(m.Lanes) }

func checkLanes(list []demand.Position) error {
	return each("lanes", list, 0, func(p demand.Position) error { return namesFit(p.Lane) })
}

func namesFit(list ...string) error {
	for _, s := range list {
		if len(s) > maxName {
			return fmt.Errorf("a name of %d bytes, at most %d are allowed", len(s), maxName)
		}
	}
	return nil
}

func (s Start) check() error {
	return inRange("original rank", int(s.Original), int(Asleep), MaxProcs-1)
}

func (s *Signal) check() error {
	return cmp.Or(inRange("signal", s.Number, 1, lastSignal), stringsFit(s.Why))
}

func (o *Output) check() error {
	return cmp.Or(inRange("stream", o.Stream, 1, 2), inRange("bytes", len(o.Data), 1, MaxOutput))
}

func (p Peer) check() error {
	return cmp.Or(checkOriginal(p.Original), checkNode(p.Node), stringsFit(p.Host, p.Address, p.TCP))
}

func (e Exit) check() error {
	return cmp.Or(
		inRange("exit code", e.Code, -1, 1<<31-1), inRange("signal", e.Signal, 0, 255), stringsFit(e.Why, e.Panic))
}

func (s *Setup) check() error {
	if t := s.Timing; min(t.Period, t.Lease, t.Margin, t.Start, t.Repair, s.Grace) < 0 {
		return errors.New("a time is negative")
	}
	return cmp.Or(checkNode(s.Node), inRange("size", s.Size, 1, MaxProcs))
}

func (j Join) check() error {
	switch j.Op {
	case OpAgree, OpShrink, OpSplit, OpSpawn, OpRepair, OpEnd:
	default:
		return fmt.Errorf("unknown operation %.32q", j.Op)
	}
	if Class(j.Seq>>60) != j.Op.Class() {
		return fmt.Errorf("operation %q has the number of another class, %d", j.Op, j.Seq)
	}
	var text string
	if j.Verdict != nil {
		text = j.Verdict.Err
	}
	return cmp.Or(stringsFit(text), count("processes", len(j.Acknowledged), 0), CheckOriginals(j.Missing))
}

func (m *Made) check() error {
	for _, s := range m.Stops {
		if !Stops(s) {
			return fmt.Errorf("signal %d does not ask for the end", s)
		}
	}
	err := cmp.Or(inRange("cause", int(m.Ends), 0, int(demand.Causes)-1),
		count("processes", len(m.Failed)+len(m.Returned), 0), count("errors of zones", len(m.ZoneErrors), 0))
	switch {
	case err != nil:
		return err
	case m.New != nil:
		return cmp.Or(m.New.check(m.Comm), m.New.checkChange(m.Change))
	case m.Op == "":
		return errors.New("no communicator for a new process")
	case m.Change != nil:
		return errors.New("a change without a communicator")
	}
	return nil
}

// check is for the outcome of an operation of a communicator, or none (0).
func (g *Group) check(of CommID) error {
	switch {
	case g.ID == 0:
		return errors.New("communicator 0")
	case g.Since == nil && twice(g.Procs):
		return fmt.Errorf("a process is twice in communicator %d", g.ID)
	case g.Since == nil:
		return count("processes", len(g.Procs), 1)
	case len(g.Procs) > 0:
		return fmt.Errorf("communicator %d has members and a difference", g.ID)
	}
	return g.Since.check(of)
}

// checkChange: the ranks of c, if there is one, are those of g.
func (g *Group) checkChange(c *driver.Change) error {
	switch {
	case c == nil:
		return nil
	case g.Since != nil:
		return cmp.Or(inRange("ranks beside a difference", len(c.Ranks), 0, 0), inRange("processes added by a repair", len(g.Since.Added), 0, 0))
	}
	return each("ranks", c.Ranks, 0, func(r int) error { return inRange("rank", r, -1, len(g.Procs)-1) })
}
