package control

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// daemonScript plays the root and the ranks of one daemon: of the processes 4 and 5,
// which have joined.
type daemonScript struct {
	t   *testing.T
	d   *Daemon
	now time.Time
	out []DaemonAction
}

func newDaemonScript(t *testing.T) *daemonScript {
	s := &daemonScript{t: t, d: NewDaemon(Setup{Version: Version, Node: 2, Size: 8, Timing: testTiming}), now: time.Unix(1000, 0)}
	require.False(t, s.d.Next().After(s.now), "at once")
	s.tick(0)
	s.root(Message{Kind: KindStart, Start: []Start{{Proc: 4, Original: 4}, {Proc: 5, Original: 5}}})
	require.Equal(t, Start{Proc: 5, Original: 5}, *s.out[2].Start)
	require.Len(t, s.out, 3)
	for p := Proc(4); p < 6; p++ {
		s.rank(p, Message{Kind: KindHello, Hello: &Hello{Proc: p, Version: Version}})
	}
	s.root(Message{Kind: KindMade, To: []Proc{4, 5}, Made: &Made{New: &Group{ID: 1, Procs: []Proc{3, 4, 5, 6}}}})
	s.out = nil
	return s
}

func (s *daemonScript) root(m Message) { s.out = append(s.out, s.d.FromRoot(s.now, m)...) }
func (s *daemonScript) rank(p Proc, m Message) {
	s.out = append(s.out, s.d.FromRank(s.now, p, m)...)
}
func (s *daemonScript) exit(e Exit) { s.out = append(s.out, s.d.Exited(s.now, e)...) }
func (s *daemonScript) tick(d time.Duration) {
	s.now = s.now.Add(d)
	s.out = append(s.out, s.d.Tick(s.now)...)
}
func (s *daemonScript) join(p Proc, j Join) {
	j.Comm, j.Seq = 1, j.Op.Class().Seq(j.Seq)
	s.rank(p, Message{Kind: KindJoin, Joins: []Join{j}})
}

// live passes time in which the root answers and the ranks give signs of life.
func (s *daemonScript) live(d time.Duration, ranks ...Proc) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.tick(testTiming.Period)
		s.root(Message{Kind: KindPulse, Pulse: &Pulse{Seq: s.d.seq, Left: testTiming.Lease}})
		for _, p := range ranks {
			s.rank(p, Message{Kind: KindPulse, Pulse: &Pulse{Seq: 1}})
		}
	}
}

// up are the messages to the root but pulses.
func (s *daemonScript) up() []Message {
	var out []Message
	for _, a := range s.out {
		if a.ToRoot != nil && a.ToRoot.Kind != KindPulse {
			out = append(out, *a.ToRoot)
		}
	}
	s.out = nil
	return out
}

func TestJoinsTravelTogether(t *testing.T) {
	s := newDaemonScript(t)
	s.join(4, Join{Op: OpAgree})
	require.Empty(t, s.up())
	s.join(5, Join{Op: OpAgree})
	up := s.up()
	require.Len(t, up, 1)
	require.Len(t, up[0].Joins, 2)

	s.join(5, Join{Op: OpAgree, Seq: 1})
	s.exit(Exit{Proc: 4, Code: -1, Signal: 9})
	up = s.up()
	require.Equal(t, KindExit, up[0].Kind)
	require.Len(t, up[1].Joins, 1, "the one that is left")
}

func TestJoinsDoNotWaitLong(t *testing.T) {
	s := newDaemonScript(t)
	s.tick(10 * time.Millisecond)
	s.join(4, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	s.up()
	s.tick(90 * time.Millisecond)
	require.Empty(t, s.up())
	require.Equal(t, s.now.Add(10*time.Millisecond), s.d.Next())
	s.tick(10 * time.Millisecond)
	require.Len(t, s.up()[0].Joins, 1)
}

func TestJoinsDoNotWaitForWhoIsAtTheEnd(t *testing.T) {
	s := newDaemonScript(t)
	s.join(5, Join{Op: OpAgree})
	s.join(4, Join{Op: OpRepair})
	up := s.up()
	require.Len(t, up, 2)
	require.Equal(t, OpAgree, up[0].Joins[0].Op)
	require.Equal(t, OpRepair, up[1].Joins[0].Op, "nor those at the end for who waits for them")
	s.join(5, Join{Op: OpRepair})
	s.up()
	s.root(Message{Kind: KindMade, To: []Proc{4, 5}, Made: &Made{Comm: 1, Op: OpRepair, New: &Group{ID: 2, Procs: []Proc{4, 5}}}})
	s.up()
	s.join(5, Join{Op: OpAgree, Seq: 1})
	require.Len(t, s.up(), 1, "the old one is forgotten")
	s.rank(5, Message{Kind: KindJoin, Joins: []Join{{Comm: 2, Op: OpAgree}}})
	require.Empty(t, s.up(), "both are back")
}

func TestSplitsDoNotWaitAfterARevoke(t *testing.T) {
	s := newDaemonScript(t)
	s.join(5, Join{Op: OpSplit})
	require.Empty(t, s.up())
	s.root(Message{Kind: KindRevoke, Revoke: &Revoke{Comm: 1}})
	require.Len(t, s.up(), 1)
}

func TestMessagesArePassedOn(t *testing.T) {
	s := newDaemonScript(t)
	s.root(Message{Kind: KindStart, Start: []Start{{Proc: 9}}})
	s.out = nil
	s.root(Message{Kind: KindFailed, Failed: []Proc{3}})
	require.Len(t, s.out, 2, "not to who has not joined")
	s.root(Message{Kind: KindMade, To: []Proc{5, 77}, Made: &Made{Comm: 1, Op: OpAgree}})
	require.Equal(t, ToRank{Proc: 5, Message: Message{Kind: KindMade, Made: &Made{Comm: 1, Op: OpAgree}}, Body: new(Body)}, *s.out[2].ToRank)
	require.Len(t, s.out, 3)
}

func TestRanksSpeakForThemselves(t *testing.T) {
	s := newDaemonScript(t)
	s.rank(4, Message{Kind: KindBye, Bye: &Bye{Proc: 5}})
	s.rank(5, Message{Kind: KindJoin, Joins: []Join{{Proc: 3, Comm: 7, Op: OpAgree}}})
	s.rank(5, Message{Kind: KindStop})
	s.rank(5, Message{Kind: KindExit, Exits: []Exit{{Proc: 4}}})
	s.rank(99, Message{Kind: KindBye, Bye: &Bye{Proc: 99}})
	up := s.up()
	require.Len(t, up, 2)
	require.Equal(t, Proc(4), up[0].Bye.Proc)
	require.Equal(t, Proc(5), up[1].Joins[0].Proc)
}

func TestSilentRank(t *testing.T) {
	s := newDaemonScript(t)
	s.rank(4, Message{Kind: KindPulse, Pulse: &Pulse{Seq: 1, Step: 17}})
	s.live(900*time.Millisecond, 5)
	require.Empty(t, s.up())
	s.live(100*time.Millisecond, 5)
	var kills []Kill
	for _, a := range s.out {
		if a.Kill != nil {
			kills = append(kills, *a.Kill)
		}
	}
	require.Equal(t, []Kill{{Proc: 4, Signal: 9, Why: "no sign of life for 1s"}}, kills)
	s.out = nil
	s.live(time.Second, 5)
	for _, a := range s.out {
		require.Nil(t, a.Kill, "once")
	}
	s.out = nil
	s.exit(Exit{Proc: 4, Code: -1, Signal: 9, Why: "signal: killed"})
	require.Equal(t, Exit{Proc: 4, Code: -1, Signal: 9, Why: "signal: killed (no sign of life for 1s)", Fenced: true, Step: 17}, s.up()[0].Exits[0])
	s.exit(Exit{Proc: 5, Code: 2})
	require.Equal(t, Exit{Proc: 5, Code: 2}, s.up()[0].Exits[0])
}

// TestWhoIsFenced: what ends because nobody had heard of it is no failure of the
// program's own, whoever has noticed it first; what somebody else has killed is one.
func TestWhoIsFenced(t *testing.T) {
	lost := Message{Kind: KindSuspect, Suspect: &Suspect{Proc: 4, Why: "fenced: it was stopped for 2s"}}
	for name, c := range map[string]struct {
		before func(s *daemonScript)
		end    Exit
		fenced bool
		why    string
	}{
		"the rank says so":              {func(s *daemonScript) { s.rank(4, lost) }, Exit{Signal: 9}, true, "signal: killed (fenced: it was stopped for 2s)"},
		"it says so and ends otherwise": {func(s *daemonScript) { s.rank(4, lost) }, Exit{Code: 3, Why: "exit status 3"}, false, "exit status 3"},
		"somebody else has killed it":   {func(s *daemonScript) { s.live(900*time.Millisecond, 5) }, Exit{Signal: 9}, false, "signal: killed"},
		"it suspects another one": {func(s *daemonScript) {
			s.rank(4, Message{Kind: KindSuspect, Suspect: &Suspect{Proc: 5, Why: "no answer"}})
		}, Exit{Signal: 9}, false, "signal: killed"},
		"another one says so of it": {func(s *daemonScript) { s.rank(5, lost) }, Exit{Signal: 9}, false, "signal: killed"},
		"its daemon kills it":       {func(s *daemonScript) { s.live(time.Second, 5) }, Exit{Signal: 9}, true, "signal: killed (no sign of life for 1s)"},
		"it is silent, and its daemon has not looked": {func(s *daemonScript) {
			s.live(900*time.Millisecond, 5)
			s.now = s.now.Add(100 * time.Millisecond)
		}, Exit{Signal: 9}, true, "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDaemonScript(t)
			c.before(s)
			if c.end.Why == "" {
				c.end.Why = "signal: killed"
			}
			c.end.Proc = 4
			s.exit(c.end)
			up := s.up()
			e := up[len(up)-1].Exits[0]
			require.Equal(t, c.fenced, e.Fenced)
			require.Equal(t, c.why, e.Why)
		})
	}
	s := newDaemonScript(t)
	s.rank(4, lost)
	require.Equal(t, []DaemonAction{{Kill: &Kill{Proc: 4, Signal: 9, Why: lost.Suspect.Why}}}, s.out, "it need not do it itself")
}

// TestStoppedRank: who has not joined, or has left, need not give signs of life, but
// others wait for it.
func TestStoppedRank(t *testing.T) {
	s := newDaemonScript(t)
	s.root(Message{Kind: KindStart, Start: []Start{{Proc: 6, Original: 6}, {Proc: 7, Original: 7}}})
	s.rank(5, Message{Kind: KindBye, Bye: &Bye{Proc: 5}})
	kills := func(stopped time.Duration) (procs []Proc) {
		s.out = nil
		s.live(stopped, 4)
		for _, a := range s.out {
			if a.Kill != nil {
				procs = append(procs, a.Kill.Proc)
			}
		}
		return procs
	}
	require.Empty(t, kills(2*time.Second))
	for p := Proc(5); p < 8; p++ {
		s.d.Stopped(s.now, p, true)
	}
	require.Empty(t, kills(900*time.Millisecond))
	s.d.Stopped(s.now, 6, false)
	require.Equal(t, []Proc{5, 7}, kills(100*time.Millisecond))
	require.Empty(t, kills(2*time.Second))
}

func TestSignalsReachRanks(t *testing.T) {
	s := newDaemonScript(t)
	s.root(Message{Kind: KindSignal, Signal: &Signal{Number: 9, Procs: []Proc{5}, Why: "late"}})
	require.Equal(t, []DaemonAction{{Kill: &Kill{5, 9, "late"}}}, s.out)
	s.out = nil
	s.root(Message{Kind: KindSignal, Signal: &Signal{Number: 15}})
	require.Equal(t, []DaemonAction{{Kill: &Kill{4, 15, ""}}, {Kill: &Kill{5, 15, ""}}}, s.out)
}

func ends(t *testing.T, out []DaemonAction, code int) {
	t.Helper()
	require.Len(t, out, 3)
	require.Equal(t, 9, out[0].Kill.Signal)
	require.Equal(t, 9, out[1].Kill.Signal)
	require.Equal(t, code, out[2].End.Code)
}

func TestEndsOfADaemon(t *testing.T) {
	s := newDaemonScript(t)
	s.root(Message{Kind: KindStop})
	ends(t, s.out, 0)
	s.root(Message{Kind: KindStop})
	require.Len(t, s.out, 3)
	require.Zero(t, s.d.Next())

	s = newDaemonScript(t)
	s.out = s.d.LostRoot(s.now, "end of input")
	ends(t, s.out, 1)
}

func TestLeaseOfADaemon(t *testing.T) {
	s := newDaemonScript(t)
	s.tick(900 * time.Millisecond)
	sent := s.d.seq
	// The answer comes late: what counts is when the pulse was sent.
	s.tick(90 * time.Millisecond)
	s.root(Message{Kind: KindPulse, Pulse: &Pulse{Seq: sent, Left: time.Second}})
	s.out = nil
	s.rank(4, Message{Kind: KindPulse, Pulse: &Pulse{Seq: 3}})
	require.Equal(t, ToRank{Proc: 4, Message: Message{Kind: KindPulse, Pulse: &Pulse{Seq: 3, Left: 910 * time.Millisecond}}}, *s.out[0].ToRank)
	s.rank(5, Message{Kind: KindPulse, Pulse: &Pulse{Seq: 3}})
	s.tick(909 * time.Millisecond)
	require.False(t, s.d.ended)
	s.out = nil
	s.tick(time.Millisecond)
	ends(t, s.out, 1)
	require.Contains(t, s.out[2].End.Why, "no sign of life of the root for 1s")

	// A long lease of the start is given back with the first usual answer.
	timing := testTiming
	timing.Start = 3 * time.Second
	s = &daemonScript{t: t, d: NewDaemon(Setup{Timing: timing}), now: time.Unix(1000, 0)}
	began := s.now
	s.tick(0)
	require.Equal(t, began.Add(3*time.Second), s.d.lease)
	s.tick(100 * time.Millisecond)
	require.Equal(t, 3*time.Second, s.out[1].ToRoot.Pulse.Left, "an answer may give as much again")
	s.root(Message{Kind: KindPulse, Pulse: &Pulse{Seq: 1, Left: 3 * time.Second}})
	require.Equal(t, began.Add(3*time.Second), s.d.lease, "not before it ends")
	s.tick(1400 * time.Millisecond)
	s.root(Message{Kind: KindPulse, Pulse: &Pulse{Seq: 2, Left: time.Second}})
	require.Equal(t, began.Add(2500*time.Millisecond), s.d.lease, "a late answer takes nothing that others have")
	s.tick(100 * time.Millisecond)
	require.Equal(t, 900*time.Millisecond, s.out[len(s.out)-1].ToRoot.Pulse.Left)

	// A daemon that was stopped does nothing else first.
	s = newDaemonScript(t)
	s.now = s.now.Add(time.Minute)
	s.root(Message{Kind: KindStart, Start: []Start{{Proc: 9}}})
	ends(t, s.out, 1)
}

// TestErrorsOfManyRanks: what the ranks of a large node say at the end of a zone is not
// too long for a message.
func TestErrorsOfManyRanks(t *testing.T) {
	const ranks = 300
	s := &daemonScript{t: t, d: NewDaemon(Setup{Version: Version, Size: ranks, Timing: testTiming}), now: time.Unix(1000, 0)}
	s.tick(0)
	procs := make([]Proc, ranks)
	for i := range procs {
		p := Proc(i)
		procs[i] = p
		s.root(Message{Kind: KindStart, Start: []Start{{Proc: p, Original: Original(i)}}})
		s.rank(p, Message{Kind: KindHello, Hello: &Hello{Proc: p, Version: Version}})
	}
	s.root(Message{Kind: KindMade, To: procs, Made: &Made{New: &Group{ID: 1, Procs: procs}}})
	s.out = nil
	v := &driver.Verdict{Err: strings.Repeat("\x00", LongestError)}
	for _, p := range procs {
		s.join(p, Join{Proc: p, Op: OpEnd, Verdict: v})
	}
	var joins []Join
	for _, a := range s.out {
		require.NoError(t, WriteMessage(io.Discard, *a.ToRoot))
		joins = append(joins, a.ToRoot.Joins...)
	}
	require.Len(t, joins, ranks)
}
