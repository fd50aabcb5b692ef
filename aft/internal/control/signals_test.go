package control

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// TestSignalsToEverybody: ranks that have got a signal from the batch system do not get
// that one from the root as well. Others they get, and the next.
func TestSignalsToEverybody(t *testing.T) {
	const terminate, user = 15, 10
	s := newDaemonScript(t)
	passed := func(signal Signal) int {
		s.out = nil
		s.root(Message{Kind: KindSignal, Signal: &signal})
		return len(s.out)
	}
	s.d.Signalled(s.now, terminate)
	require.Equal(t, 2, passed(Signal{Number: user}))
	require.Equal(t, 1, passed(Signal{Number: terminate, Procs: []Proc{5}, Why: "late"}))
	require.Zero(t, passed(Signal{Number: terminate}))
	require.Equal(t, 2, passed(Signal{Number: terminate}))
	s.d.Signalled(s.now, terminate) // the root was faster
	require.Equal(t, 2, passed(Signal{Number: terminate}), "one more of the user")
	s.live(2*signalledPatience, 4, 5)
	s.d.Signalled(s.now.Add(-signalledPatience), terminate)
	require.Equal(t, 2, passed(Signal{Number: terminate}))
	s.live(2*signalledPatience, 4, 5)
	s.d.Signalled(s.now, terminate)
	s.now = s.now.Add(time.Millisecond)
	s.root(Message{Kind: KindStart, Start: []Start{{Proc: 9}}})
	require.Equal(t, 1, passed(Signal{Number: terminate}), "it was started later")
}

// TestSignalsOfReplacements: one that is started hears of a signal when it has become a member:
// before, others wait for it, and would for its own replacement. It hears of an end that was asked
// for before it was started, too.
func TestSignalsOfReplacements(t *testing.T) {
	const terminate, user = 15, 10
	s := newDaemonScript(t)
	signal := func(number int) {
		s.out = nil
		s.root(Message{Kind: KindSignal, Signal: &Signal{Number: number}})
	}
	made := func(p Proc, op Op, stops ...int) []DaemonAction {
		s.out = nil
		s.root(Message{Kind: KindMade, To: []Proc{p}, Made: &Made{Op: op, New: &Group{ID: 2, Procs: []Proc{p}}, Stops: stops}})
		for _, a := range s.out {
			require.Nil(t, a.Kill, "its body has not begun")
		}
		s.live(missedDelay, 4, 5, 9)
		return slices.DeleteFunc(s.out, func(a DaemonAction) bool { return a.Kill == nil })
	}
	signal(terminate)
	signal(user)
	s.now = s.now.Add(time.Millisecond)
	s.root(Message{Kind: KindStart, Start: []Start{{Proc: 9, Epoch: 1}}})
	s.now = s.now.Add(time.Millisecond)
	signal(sighup)
	require.Len(t, s.out, 2, "4 and 5")
	require.Equal(t, []DaemonAction{{Kill: &Kill{9, sighup, ""}}, {Kill: &Kill{9, terminate, ""}}}, made(9, "", terminate, sighup))
	require.Empty(t, made(9, OpRepair))
	signal(user)
	require.Len(t, s.out, 3)
	s.live(2*StopPatience, 4, 5, 9)
	s.root(Message{Kind: KindStart, Start: []Start{{Proc: 10, Epoch: 2}}})
	s.d.Signalled(s.now, terminate) // by the batch system, 10 too
	s.now = s.now.Add(time.Millisecond)
	s.root(Message{Kind: KindStart, Start: []Start{{Proc: 11, Epoch: 2}}})
	signal(terminate)
	require.Empty(t, made(10, "", terminate))
	require.Equal(t, []DaemonAction{{Kill: &Kill{11, terminate, ""}}}, made(11, "", terminate))
	s.root(Message{Kind: KindStart, Start: []Start{{Proc: 12, Epoch: 3}}})
	require.Empty(t, made(12, ""), "the root tells what has asked for the end not long ago")
	s.root(Message{Kind: KindStart, Start: []Start{{Proc: 13, Epoch: 3}}})
	s.root(Message{Kind: KindMade, To: []Proc{13}, Made: &Made{New: &Group{ID: 2, Procs: []Proc{13}}, Stops: []int{sighup, terminate}}})
	signal(terminate) // before it gets it again
	s.out = nil
	s.live(missedDelay, 4, 5, 13)
	require.Equal(t, []DaemonAction{{Kill: &Kill{13, sighup, ""}}}, slices.DeleteFunc(s.out, func(a DaemonAction) bool { return a.Kill == nil }))
}

// TestSignalsOfAllOfANode: a message to all processes of the node names none of them.
func TestSignalsOfAllOfANode(t *testing.T) {
	const terminate = 15
	s := &daemonScript{t: t, d: NewDaemon(Setup{Version: Version, Size: 2, Timing: testTiming}), now: time.Unix(1000, 0)}
	s.root(Message{Kind: KindStart, Start: []Start{{Proc: 4, Epoch: 1}, {Proc: 5, Epoch: 1}}})
	for p := Proc(4); p < 6; p++ {
		s.rank(p, Message{Kind: KindHello, Hello: &Hello{Proc: p, Version: Version}})
	}
	s.root(Message{Kind: KindMade, Made: &Made{New: &Group{ID: 2, Procs: []Proc{4, 5}}, Replacement: true, Stops: []int{terminate}}})
	s.live(missedDelay, 4, 5)
	require.Equal(t, []DaemonAction{{Kill: &Kill{4, terminate, ""}}, {Kill: &Kill{5, terminate, ""}}},
		slices.DeleteFunc(s.out, func(a DaemonAction) bool { return a.Kill == nil }))
}

// TestMissedSignalsBehindAZone: a program may have no code for signals there.
func TestMissedSignalsBehindAZone(t *testing.T) {
	const terminate = 15
	for _, repair := range []bool{false, true} {
		s := newDaemonScript(t)
		kills := func() (out []Kill) {
			for _, a := range s.out {
				if a.Kill != nil {
					out = append(out, *a.Kill)
				}
			}
			s.out = nil
			return out
		}
		made := func(m Made) { s.root(Message{Kind: KindMade, To: []Proc{9}, Made: &m}) }
		s.root(Message{Kind: KindStart, Start: []Start{{Proc: 9, Epoch: 1}}})
		made(Made{New: &Group{ID: 2, Procs: []Proc{9}}, Stops: []int{terminate}})
		s.rank(9, Message{Kind: KindJoin, Joins: []Join{{Proc: 9, Comm: 2, Op: OpEnd, Seq: OpEnd.Class().Seq(0), Verdict: &driver.Verdict{}, Step: NoStep}}})
		s.live(2*missedDelay, 4, 5, 9)
		require.Empty(t, kills())
		made(Made{Comm: 2, Op: OpEnd, Outcome: &driver.Outcome{Repair: repair}})
		s.live(missedDelay/2, 4, 5, 9)
		require.Empty(t, kills())
		s.live(missedDelay, 4, 5, 9)
		if !repair { // another zone
			require.Empty(t, kills())
			s.rank(9, Message{Kind: KindBegin, Begin: &Begin{}})
			s.live(missedDelay/2, 4, 5, 9)
			require.Empty(t, kills())
			s.live(missedDelay, 4, 5, 9)
		}
		require.Equal(t, []Kill{{9, terminate, ""}}, kills())
		s.live(2*missedDelay, 4, 5, 9)
		require.Empty(t, kills())
	}
	s := newDaemonScript(t) // started again before the first world
	s.root(Message{Kind: KindStart, Start: []Start{{Proc: 9}}})
	s.now = s.now.Add(time.Millisecond)
	s.root(Message{Kind: KindSignal, Signal: &Signal{Number: sighup}})
	s.out = nil
	s.root(Message{Kind: KindMade, To: []Proc{9}, Made: &Made{New: &Group{ID: 2, Procs: []Proc{9}}, Stops: []int{sighup, terminate}}})
	s.live(missedDelay, 4, 5, 9)
	require.Equal(t, []DaemonAction{{Kill: &Kill{9, terminate, ""}}}, slices.DeleteFunc(s.out, func(a DaemonAction) bool { return a.Kill == nil }))
}
