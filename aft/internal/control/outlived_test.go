package control

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

func (s *script) outlived(list ...Proc) {
	for _, p := range list {
		s.of(p, Message{Kind: KindOutlived, Outlived: []Proc{p}})
	}
}

// pass lets time pass in which all nodes give signs of life.
func (s *script) pass(d time.Duration) {
	for until := s.now.Add(d); s.now.Before(until); s.pulses() {
		s.tick(500 * time.Millisecond)
	}
}

// endZone ends the zone of four ranks.
func (s *script) endZone(v driver.Verdict) {
	for p := range Proc(4) {
		s.join(p, Join{Op: OpEnd, Verdict: &v})
	}
}

func suspectOf(p Proc) Message {
	return Message{Kind: KindSuspect, Suspect: &Suspect{Proc: p, Why: "its connection has ended"}}
}

// TestScriptAfterTheProgram: the zone has ended, and what the scripts of the ranks do then is
// their own business: the job ends with their exit codes.
func TestScriptAfterTheProgram(t *testing.T) {
	for name, v := range map[string]driver.Verdict{"well": {}, "with an error": {Err: "no"}} {
		s := four(t)
		s.endZone(v)
		s.of(1, suspectOf(0)) // its news is on its way
		s.outlived(0, 1, 2, 3)
		s.of(1, suspectOf(2))
		s.pass(100 * time.Second)
		require.Empty(t, s.messages(KindSignal), name)
		s.exit(0, 0)
		s.exit(1, 5)
		s.kill(2) // none of them can begin with another zone
		require.Nil(t, s.end)
		s.kill(3)
		require.NotNil(t, s.end, name)
		require.Equal(t, 137, s.end.Code)
		require.Len(t, s.starts, 4)
	}
}

// TestScriptOfAProgramThatFails in a zone, or before it: the script is killed, unless it ends
// by itself and says how.
func TestScriptOfAProgramThatFails(t *testing.T) {
	s := four(t)
	s.of(1, suspectOf(3))
	s.outlived(3)
	require.Equal(t, s.now.Add(testTiming.Period), s.r.Next())
	s.tick(testTiming.Period - 1)
	require.Empty(t, s.killed(3))
	s.tick(1)
	require.Contains(t, s.killed(3), "its program has ended")
	s.kill(3)
	require.NotEmpty(t, s.messages(KindFailed))

	s = four(t)
	s.outlived(3)
	s.exit(3, 2)
	s.tick(testTiming.Period)
	require.Empty(t, s.messages(KindSignal))
	require.Equal(t, "exit status 2", s.r.members.latest[3].reason)

	s = four(t) // all of them
	s.outlived(0, 1, 2, 3)
	s.tick(testTiming.Period)
	for p := range Proc(4) {
		require.NotEmpty(t, s.killed(p))
		s.kill(p)
	}
	require.Len(t, s.starts, 8)

	s = launched(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
	s.hello(0)
	s.outlived(0)
	s.tick(testTiming.Period)
	require.NotEmpty(t, s.killed(0))
	s.kill(0)
	require.Len(t, s.starts, 3)
}

// TestScriptWhileOthersAreInAFurtherZone: they wait for the program of that rank.
func TestScriptWhileOthersAreInAFurtherZone(t *testing.T) {
	s := four(t)
	s.endZone(driver.Verdict{})
	s.outlived(3)
	s.pass(time.Minute)
	require.Empty(t, s.killed(3))
	s.of(0, Message{Kind: KindBegin, Begin: &Begin{Proc: 0}})
	require.False(t, s.r.Next().After(s.now))
	s.tick(0)
	require.NotEmpty(t, s.killed(3))
	s.kill(3)
	require.Equal(t, []Proc{3}, s.messages(KindFailed)[0].Failed)
}

// TestScriptAfterAProgramThatWasAskedToEnd: what it does takes longer than the patience.
func TestScriptAfterAProgramThatWasAskedToEnd(t *testing.T) {
	s := four(t)
	s.do(s.r.Signal(s.now, 15))
	s.outlived(0, 1)
	s.exit(0, 0)
	s.outlived(2, 3)
	s.sent = nil
	s.pass(100 * time.Second)
	require.Empty(t, s.messages(KindSignal))
	s.exit(1, 0)
	s.exit(2, 3)
	s.exit(3, 0)
	require.NotNil(t, s.end)
	require.Equal(t, 3, s.end.Code)

	s = four(t) // the others ignore it
	s.do(s.r.Signal(s.now, 15))
	s.outlived(3)
	s.sent = nil
	s.pass(StopPatience - time.Second)
	require.Empty(t, s.killed(3))
	s.pass(time.Second)
	require.NotEmpty(t, s.killed(3))
	s.kill(3)
	require.Equal(t, []Proc{3}, s.messages(KindFailed)[0].Failed)
}

// TestOutlivedRank: a daemon waits for no sign of life of a program that has ended.
func TestOutlivedRank(t *testing.T) {
	s := newDaemonScript(t)
	s.join(5, Join{Op: OpAgree})
	s.out = append(s.out, s.d.Outlived(s.now, 4)...)
	up := s.up()
	require.Equal(t, []Proc{4}, up[0].Outlived)
	require.Len(t, up[1].Joins, 1, "nor for what it would join")
	s.live(5*testTiming.Lease, 5)
	s.root(Message{Kind: KindFailed, Failed: []Proc{3}})
	for _, a := range s.out {
		require.Nil(t, a.Kill)
		require.True(t, a.ToRank == nil || a.ToRank.Proc != 4)
	}
	s.out = nil
	s.root(Message{Kind: KindSignal, Signal: &Signal{Number: 9, Procs: []Proc{4}, Why: "its program has ended"}})
	s.exit(Exit{Proc: 4, Code: -1, Signal: 9, Why: "signal: killed"})
	require.Equal(t, Exit{Proc: 4, Code: -1, Signal: 9, Why: "signal: killed (its program has ended)", Step: NoStep}, s.up()[0].Exits[0],
		"a failure of its own")
}

// TestKilledUnderAScriptAfterASignal: that is a failure at once, as it is without the script; the
// replacement is told of the signal.
func TestKilledUnderAScriptAfterASignal(t *testing.T) {
	for _, outlived := range []bool{false, true} {
		s := four(t)
		if outlived {
			s.outlived(2)
		}
		s.do(s.r.Signal(s.now, int(syscall.SIGTERM)))
		s.sent = nil
		s.exit(2, killedCode)
		require.Equal(t, []Message{{Kind: KindFailed, Failed: []Proc{2}}}, onceEach(s.messages(KindFailed)))
	}
}
