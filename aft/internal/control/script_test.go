package control

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// script plays the daemons and the ranks of a job step by step.
type script struct {
	t      *testing.T
	r      *Root
	now    time.Time
	sent   []Send // since the last look
	raw    []Send // the same, as the root says it; nil: they are not kept
	fenced []Node
	notes  []string
	end    *End
	where  map[Proc]Node
	starts []Start
	groups map[CommID]Group
}

var testTiming = Timing{Period: 100 * time.Millisecond, Lease: time.Second, Margin: 200 * time.Millisecond, Repair: time.Minute}

// nodesOf makes nodes on hosts of their own; the last spare ones are spare.
func nodesOf(count, spare int) []NodeConfig {
	var out []NodeConfig
	for i := range count {
		out = append(out, NodeConfig{Name: fmt.Sprint("n", i), Host: fmt.Sprint("h", i), Spare: i >= count-spare})
	}
	return out
}

func newScript(t *testing.T, cfg RootConfig) *script {
	if cfg.Timing == (Timing{}) {
		cfg.Timing = testTiming
	}
	r, err := NewRoot(cfg)
	require.NoError(t, err)
	s := &script{t: t, r: r, now: time.Unix(1000, 0), where: make(map[Proc]Node), groups: make(map[CommID]Group)}
	s.do(r.Begin(s.now))
	return s
}

// launched is a job whose processes have been started.
func launched(t *testing.T, cfg RootConfig) *script {
	s := newScript(t, cfg)
	for i := range cfg.Nodes {
		s.handle(Node(i), Message{Kind: KindReady, Ready: &Ready{Version: Version, Program: "p"}})
	}
	return s
}

// running is a job that has its first world.
func running(t *testing.T, cfg RootConfig) *script {
	s := launched(t, cfg)
	for p := range cfg.Size {
		s.hello(Proc(p))
	}
	require.NotNil(t, s.made(0).New)
	s.sent = nil
	return s
}

func (s *script) do(list []Action) {
	for _, a := range list {
		require.Nil(s.t, s.end, "an action after the end")
		switch {
		case a.Send != nil:
			require.NoError(s.t, a.Send.Message.Validate())
			if s.raw != nil {
				s.raw = append(s.raw, *a.Send)
			}
			s.sent = append(s.sent, s.whole(*a.Send))
			for _, st := range a.Send.Message.Start {
				s.where[st.Proc] = a.Send.Node
				s.starts = append(s.starts, st)
			}
		case a.Fence != nil:
			s.fenced = append(s.fenced, *a.Fence)
		case a.Note != nil:
			s.notes = append(s.notes, a.Note.Text)
		case a.End != nil:
			s.end = a.End
		}
	}
}

// whole is a message with its receivers and the members of its communicator named, as these have them in the end.
func (s *script) whole(send Send) Send {
	m := &send.Message
	if m.Made == nil {
		return send
	}
	if len(m.To) == 0 {
		m.To = ids(only(s.r.members.present, func(p *process) bool { return p.present() && p.node.id == send.Node }))
	}
	made, err := m.Made.Whole(s.groups[m.Made.Comm].Procs)
	require.NoError(s.t, err)
	if m.Made = &made; made.New != nil {
		s.groups[made.New.ID] = *made.New
	}
	if made.Op == "" && made.New != nil { // those before have been replaced, and their outcomes were sent
		maps.DeleteFunc(s.groups, func(id CommID, g Group) bool { return made.Change != nil && id < made.New.ID && !g.Lasting })
	}
	return send
}

func (s *script) handle(n Node, m Message) {
	s.t.Helper()
	require.NoError(s.t, m.Validate())
	s.do(s.r.Handle(s.now, n, m))
}

// messages are those of a kind that the root has sent.
func (s *script) messages(k Kind) (out []Message) {
	for _, send := range s.sent {
		if send.Message.Kind == k {
			out = append(out, send.Message)
		}
	}
	return out
}

func (s *script) of(p Proc, m Message) { s.t.Helper(); s.handle(s.where[p], m) }

func (s *script) hello(p Proc) {
	s.of(p, Message{Kind: KindHello, Hello: &Hello{Proc: p, Version: Version, Address: fmt.Sprint("@", p)}})
}

func (s *script) exit(p Proc, code int) {
	s.of(p, Message{Kind: KindExit, Exits: []Exit{{Proc: p, Code: code, Step: NoStep}}})
}

func (s *script) kill(p Proc) { s.signalled(p, 9) }

func (s *script) signalled(p Proc, number int) {
	s.of(p, Message{Kind: KindExit, Exits: []Exit{{Proc: p, Code: -1, Signal: number, Step: NoStep}}})
}

func (s *script) bye(p Proc) { s.of(p, Message{Kind: KindBye, Bye: &Bye{Proc: p}}) }

func (s *script) join(p Proc, j Join) {
	s.t.Helper()
	j.Proc = p
	if j.Comm == 0 {
		j.Comm = 1
	}
	j.Seq = j.Op.Class().Seq(j.Seq)
	s.of(p, Message{Kind: KindJoin, Joins: []Join{j}})
}

func (s *script) tick(d time.Duration) {
	s.now = s.now.Add(d)
	s.do(s.r.Tick(s.now))
}

// pulses makes all nodes but some give a sign of life.
func (s *script) pulses(but ...Node) {
	for i := range s.r.members.nodes {
		if !slices.Contains(but, Node(i)) {
			s.handle(Node(i), Message{Kind: KindPulse, Pulse: &Pulse{Seq: 1}})
		}
	}
}

// made is the last outcome for p; the zero value if there was none.
func (s *script) made(p Proc) Made {
	for _, m := range slices.Backward(s.sent) {
		if m.Message.Kind == KindMade && m.Node == s.where[p] && slices.Contains(m.Message.To, p) {
			return *m.Message.Made
		}
	}
	return Made{}
}

func (s *script) kinds() []Kind {
	var out []Kind
	for _, m := range s.sent {
		out = append(out, m.Message.Kind)
	}
	return out
}

// killed is why p was sent a SIGKILL; "": it was not.
func (s *script) killed(p Proc) string {
	for _, m := range s.sent {
		if sig := m.Message.Signal; sig != nil && sig.Number == 9 && slices.Contains(sig.Procs, p) {
			require.Equal(s.t, s.where[p], m.Node)
			return sig.Why
		}
	}
	return ""
}

// placed are the nodes of all processes by number.
func (s *script) placed() []Node {
	var out []Node
	slices.SortFunc(s.starts, func(a, b Start) int { return int(a.Proc) - int(b.Proc) })
	for _, st := range s.starts {
		out = append(out, s.where[st.Proc])
	}
	return out
}

func failing() *driver.Verdict { return &driver.Verdict{Failure: true} }

func policy(r driver.Recovery, p driver.SpawnPolicy) *driver.Policy {
	return &driver.Policy{Recovery: r, Spawn: p}
}
