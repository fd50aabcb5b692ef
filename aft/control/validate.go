package control

import (
	"errors"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
)

// What a message may hold at most.
const (
	MaxProcs  = 1 << 16 // processes, ranks or nodes in one list
	MaxOutput = 64 << 10
	maxString = 1 << 20
	maxCredit = 1 << 30
)

// Validate tells whether m is a message that its receiver can rely on: of a known
// kind, with the field of this kind, and nothing beyond the bounds. The error is
// an ErrMessage.
func (m Message) Validate() error {
	check, ok := checks[m.Kind]
	if !ok {
		return fmt.Errorf("%w: unknown kind %q", ErrMessage, short(string(m.Kind)))
	}
	if len(m.To) > MaxProcs {
		return fmt.Errorf("%w: %s for %d processes, at most %d are allowed", ErrMessage, m.Kind, len(m.To), MaxProcs)
	}
	if err := check(m); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrMessage, m.Kind, err)
	}
	return nil
}

// errField says that the field of a message's kind is missing.
var errField = errors.New("its field is missing")

var checks = map[Kind]func(Message) error{
	KindReady: func(m Message) error {
		if m.Ready == nil {
			return errField
		}
		return stringsFit(m.Ready.Host, m.Ready.Program, m.Ready.Path)
	},
	KindHello: func(m Message) error {
		if m.Hello == nil {
			return errField
		}
		return stringsFit(m.Hello.Address, m.Hello.TCP)
	},
	KindBegin:  func(m Message) error { return present(m.Begin != nil) },
	KindJoin:   checkJoins,
	KindRevoke: func(m Message) error { return present(m.Revoke != nil) },
	KindSuspect: func(m Message) error {
		if m.Suspect == nil {
			return errField
		}
		return stringsFit(m.Suspect.Why)
	},
	KindBye:   func(m Message) error { return present(m.Bye != nil) },
	KindExit:  checkExits,
	KindPulse: func(m Message) error { return present(m.Pulse != nil) },
	KindStack: func(m Message) error {
		if m.Stack == nil {
			return errField
		}
		return stringsFit(m.Stack.Text)
	},
	KindOutput:   checkOutput,
	KindCredit:   checkCredit,
	KindStarted:  func(m Message) error { return count("processes", len(m.Started), 1) },
	KindOutlived: func(m Message) error { return count("processes", len(m.Outlived), 1) },
	KindError: func(m Message) error {
		if m.Error == nil {
			return errField
		}
		return stringsFit(m.Error.Text)
	},
	KindSetup: checkSetup,
	KindStart: checkStart,
	KindPeers: checkPeers,
	KindMade:  checkMade,
	KindFailed: func(m Message) error {
		return count("processes", len(m.Failed)+len(m.Left)+len(m.Away), 1)
	},
	KindSignal: checkSignal,
	KindStop:   func(Message) error { return nil },
}

func present(ok bool) error {
	if !ok {
		return errField
	}
	return nil
}

func count(what string, n, least int) error {
	if n < least || n > MaxProcs {
		return fmt.Errorf("%d %s, allowed are %d to %d", n, what, least, MaxProcs)
	}
	return nil
}

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

func short(s string) string { return s[:min(len(s), 32)] }

func checkJoins(m Message) error {
	if err := count("joins", len(m.Joins), 1); err != nil {
		return err
	}
	for _, j := range m.Joins {
		switch j.Op {
		case OpAgree, OpShrink, OpSplit, OpSpawn, OpRepair, OpEnd:
		default:
			return fmt.Errorf("unknown operation %q", short(string(j.Op)))
		}
		if j.Seq>>60 != j.Op.Class() {
			return fmt.Errorf("operation %q has the number of another class, %d", j.Op, j.Seq)
		}
		if err := count("processes", len(j.Acknowledged), 0); err != nil {
			return err
		}
		if err := CheckOriginals(j.Missing); err != nil {
			return err
		}
		if j.Verdict != nil {
			if err := stringsFit(j.Verdict.Err); err != nil {
				return err
			}
		}
	}
	return nil
}

func CheckOriginals(list []comm.OriginalRank) error {
	if err := count("ranks", len(list), 0); err != nil {
		return err
	}
	for _, o := range list {
		if err := inRange("original rank", int(o), 0, MaxProcs-1); err != nil {
			return err
		}
	}
	return nil
}

func checkExits(m Message) error {
	if err := count("exits", len(m.Exits), 1); err != nil {
		return err
	}
	for _, e := range m.Exits {
		if err := inRange("exit code", e.Code, -1, 1<<31-1); err != nil {
			return err
		}
		if err := inRange("signal", e.Signal, 0, 255); err != nil {
			return err
		}
		if err := stringsFit(e.Why, e.Panic); err != nil {
			return err
		}
	}
	return nil
}

func checkOutput(m Message) error {
	if m.Output == nil {
		return errField
	}
	if err := inRange("stream", m.Output.Stream, 1, 2); err != nil {
		return err
	}
	return inRange("bytes", len(m.Output.Data), 1, MaxOutput)
}

func checkCredit(m Message) error { return inRange("bytes", m.Credit, 1, maxCredit) }

func checkSetup(m Message) error {
	s := m.Setup
	if s == nil {
		return errField
	}
	if err := inRange("node", int(s.Node), 0, MaxProcs-1); err != nil {
		return err
	}
	if err := inRange("size", s.Size, 1, MaxProcs); err != nil {
		return err
	}
	if err := checkTimes(s.Timing); err != nil {
		return err
	}
	return checkStarts(m.Start) // of the process that a daemon hands its setup to
}

func checkTimes(t Timing) error {
	if t.Period < 0 || t.Lease < 0 || t.Margin < 0 || t.Start < 0 || t.Repair < 0 {
		return errors.New("a time is negative")
	}
	return nil
}

func checkStart(m Message) error {
	if len(m.Start) == 0 {
		return errField
	}
	return checkStarts(m.Start)
}

func checkStarts(list []Start) error {
	if err := count("starts", len(list), 0); err != nil {
		return err
	}
	for _, s := range list {
		if err := inRange("original rank", int(s.Original), 0, MaxProcs-1); err != nil {
			return err
		}
	}
	return nil
}

func checkPeers(m Message) error {
	if err := count("peers", len(m.Peers), 1); err != nil {
		return err
	}
	for _, p := range m.Peers {
		if err := inRange("original rank", int(p.Original), 0, MaxProcs-1); err != nil {
			return err
		}
		if err := inRange("node", int(p.Node), 0, MaxProcs-1); err != nil {
			return err
		}
		if err := stringsFit(p.Host, p.Address, p.TCP); err != nil {
			return err
		}
	}
	return nil
}

func checkMade(m Message) error {
	made := m.Made
	if made == nil {
		return errField
	}
	if err := count("processes", len(made.Failed)+len(made.Returned), 0); err != nil {
		return err
	}
	if err := count("errors of zones", len(made.ZoneErrors), 0); err != nil {
		return err
	}
	for _, s := range made.Stops {
		if !Stops(s) {
			return fmt.Errorf("signal %d does not ask for the end", s)
		}
	}
	if made.New != nil {
		if err := checkGroup(made.New); err != nil {
			return err
		}
	}
	if made.Op == "" && made.New == nil {
		return errors.New("no communicator for a new process")
	}
	if made.Change != nil {
		return checkChange(made.Change, made.New)
	}
	return nil
}

func checkGroup(g *Group) error {
	if g.ID == 0 {
		return fmt.Errorf("communicator 0")
	}
	if err := count("processes", len(g.Procs), 1); err != nil {
		return err
	}
	seen := make(map[Proc]bool, len(g.Procs))
	for _, p := range g.Procs {
		if seen[p] {
			return fmt.Errorf("process %d is twice in communicator %d", p, g.ID)
		}
		seen[p] = true
	}
	return nil
}

func checkChange(c *comm.Change, g *Group) error {
	if g == nil {
		return errors.New("a change without a communicator")
	}
	for _, r := range c.Ranks {
		if err := inRange("rank", int(r), -1, len(g.Procs)-1); err != nil {
			return err
		}
	}
	return nil
}

func checkSignal(m Message) error {
	if m.Signal == nil {
		return errField
	}
	if err := inRange("signal", m.Signal.Number, 1, 64); err != nil {
		return err
	}
	return stringsFit(m.Signal.Why)
}
