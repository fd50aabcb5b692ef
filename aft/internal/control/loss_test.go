package control

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

func TestSilentNode(t *testing.T) {
	s := four(t)
	began := s.now
	s.tick(time.Second)
	s.pulses(1)
	require.Equal(t, began.Add(1200*time.Millisecond), s.r.Next())
	s.sent = nil
	s.tick(200*time.Millisecond - 1)
	require.Empty(t, s.sent)
	s.tick(1)
	require.Equal(t, []Node{1}, s.fenced)
	require.Equal(t, []Kind{KindFailed}, s.kinds(), "nothing is sent there any more")
	require.Equal(t, []Proc{2, 3}, s.sent[0].Message.Failed)
	s.hello(2)
	s.exit(3, 0)
	require.Len(t, s.sent, 1, "late messages count for nothing")
	s.do(s.r.Lost(s.now, 1, "killed", true))
	require.Len(t, s.sent, 1)
}

// TestSilentLocalNode: its end will be seen, so nobody is declared dead before.
func TestSilentLocalNode(t *testing.T) {
	nodes := nodesOf(2, 0)
	nodes[1].Local = true
	s := running(t, RootConfig{Size: 2, Nodes: nodes})
	s.tick(600 * time.Millisecond)
	s.pulses(1) // all but 1
	s.sent = nil
	s.tick(600 * time.Millisecond)
	require.Equal(t, []Node{1}, s.fenced)
	require.NotContains(t, s.kinds(), KindFailed)
	s.tick(100 * time.Millisecond)
	require.Equal(t, []Node{1}, s.fenced, "once")
	require.NotContains(t, s.kinds(), KindFailed)
	// A stopped daemon that goes on at the fencing may have its say about it first.
	s.handle(1, Message{Kind: KindError, Error: &Error{Text: "no sign of life of the root for 1s", Ends: true}})
	s.do(s.r.Lost(s.now, 1, "signal: killed", true))
	require.Contains(t, s.kinds(), KindFailed)
	require.Equal(t, "no sign of life for 1.2s (signal: killed)", s.r.members.nodes[1].why)
}

func TestPulsesAreAnswered(t *testing.T) {
	s := four(t)
	s.handle(1, Message{Kind: KindPulse, Pulse: &Pulse{Seq: 42}})
	require.Equal(t, []Send{{Node: 1, Message: Message{Kind: KindPulse, Pulse: &Pulse{Seq: 42, Left: time.Second}}}}, s.sent)
}

func TestLostConnection(t *testing.T) {
	s := four(t)
	s.do(s.r.Lost(s.now, 1, "broken pipe", false))
	require.Equal(t, []Node{1}, s.fenced)
	require.Empty(t, s.sent, "its ranks may still run")
	s.tick(time.Second)
	s.pulses(1)
	s.sent = nil
	s.tick(200 * time.Millisecond)
	require.Equal(t, []Proc{2, 3}, s.sent[0].Message.Failed)
	require.Equal(t, []Node{1}, s.fenced)

	s = four(t)
	s.do(s.r.Lost(s.now, 1, "signal: killed", true))
	require.Equal(t, []Proc{2, 3}, s.sent[0].Message.Failed, "at once")
}

func TestSuspects(t *testing.T) {
	suspect := func(s *script, p Proc) {
		s.of(0, Message{Kind: KindSuspect, Suspect: &Suspect{Proc: p, Why: "reset by rank 3"}})
	}
	s := four(t)
	suspect(s, 3)
	suspect(s, 3)
	require.Empty(t, s.sent)
	require.Equal(t, s.now.Add(testTiming.Period), s.r.Next())
	s.tick(testTiming.Period)
	require.Equal(t, "connection to it broke (seen from node n0): reset by rank 3", s.killed(3))
	require.Len(t, s.sent, 1)

	s = four(t)
	suspect(s, 3)
	s.bye(3) // it was just leaving
	s.tick(testTiming.Period)
	require.Empty(t, s.killed(3))

	s = four(t)
	suspect(s, 3)
	s.kill(3)
	s.sent = nil
	s.tick(testTiming.Period)
	require.Empty(t, s.sent)
}

func TestLeaving(t *testing.T) {
	s := four(t)
	s.bye(3)
	require.Empty(t, s.sent)
	s.exit(3, 0)
	require.Equal(t, Message{Kind: KindFailed, Left: []Proc{3}}, s.sent[0].Message)
	for p := range Proc(3) {
		s.join(p, Join{Op: OpAgree, Flags: 1})
		s.join(p, Join{Op: OpSplit})
	}
	require.Equal(t, []Proc{3}, s.made(0).Failed, "a split needs all")
	for p := range Proc(3) {
		s.join(p, Join{Op: OpEnd, Verdict: failing()})
	}
	s.repairAll(1, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 2)
	require.Equal(t, []Proc{0, 1, 2}, s.made(0).New.Procs, "who has left is not replaced")
	require.Empty(t, s.made(0).Change.Failed)
	require.Equal(t, []int{0, 1, 2, -1}, s.made(0).Change.Ranks)
}

// All exit in a zone that is not the first one: nobody is left to come to its end.
func TestAllExitInAFurtherZone(t *testing.T) {
	s := four(t)
	for p := range Proc(4) {
		s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	}
	for p := range Proc(4) {
		s.of(p, Message{Kind: KindBegin, Begin: &Begin{Proc: p}})
	}
	for p := range Proc(4) {
		s.exit(p, int(p))
	}
	require.Nil(t, s.end)
	require.Len(t, s.starts, 8)
}

func TestExitCodes(t *testing.T) {
	ended := func(s *script, v driver.Verdict) {
		for p := range Proc(4) {
			s.join(p, Join{Op: OpEnd, Verdict: &v})
		}
	}
	for _, c := range []struct {
		name string
		play func(s *script)
		code int
		says string
	}{
		{"all well", func(s *script) {
			for p := range Proc(4) {
				s.bye(p)
				s.exit(p, 0)
			}
		}, 0, ""},
		{"after the zone, without Bye", func(s *script) {
			ended(s, driver.Verdict{})
			for p := range Proc(4) {
				s.exit(p, 0)
			}
		}, 0, ""},
		{"the largest code", func(s *script) {
			for p := range Proc(4) {
				s.bye(p)
				s.exit(p, int(p)%3)
			}
		}, 2, "rank 2 (process 2 on node n1): exit status 2"},
		{"the zone's error", func(s *script) {
			ended(s, driver.Verdict{Err: "bad"})
			for p := range Proc(4) {
				s.exit(p, 3)
			}
		}, 3, "exit status 3"},
		{"killed at the end", func(s *script) {
			ended(s, driver.Verdict{})
			for p := range Proc(3) {
				s.exit(p, 0)
			}
			s.kill(3)
		}, 137, "rank 3"},
		{"run through a failure", func(s *script) {
			s.kill(0)
			for p := range Proc(3) {
				s.join(p+1, Join{Op: OpEnd, Verdict: &driver.Verdict{Through: true}})
			}
			for p := range Proc(3) {
				s.exit(p+1, 0)
			}
		}, 0, ""},
		{"a code of their own after a failure that they ran through", func(s *script) {
			s.kill(0)
			for p := range Proc(3) {
				s.join(p+1, Join{Op: OpEnd, Verdict: &driver.Verdict{Through: true}})
			}
			for p := range Proc(3) {
				s.exit(p+1, 9)
			}
		}, 9, "rank 1 (process 1 on node n0): exit status 9"},
		{"interrupted", func(s *script) {
			s.do(s.r.Signal(s.now, 2))
			for p := range Proc(4) {
				s.signalled(p, 2)
			}
		}, 130, "rank 0"},
		{"asked to stop", func(s *script) {
			s.do(s.r.Signal(s.now, 15))
			for p := range Proc(4) {
				s.exit(p, 75)
			}
		}, 75, "to go on later"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := four(t)
			c.play(s)
			require.NotNil(t, s.end)
			require.Equal(t, c.code, s.end.Code)
			require.Contains(t, s.end.Report, c.says)
			require.Len(t, s.starts, 4)
			require.Zero(t, s.r.Next())
			require.Nil(t, s.r.Tick(s.now))
		})
	}
}

func TestExitWithoutByeIsAFailure(t *testing.T) {
	s := four(t)
	s.exit(2, 0)
	require.Equal(t, []Proc{2}, s.sent[0].Message.Failed)
	// Also in a later zone: whoever takes part in something again has not left.
	s = four(t)
	for p := range Proc(4) {
		s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	}
	s.join(2, Join{Op: OpAgree})
	s.sent = nil
	s.exit(2, 0)
	require.Equal(t, []Proc{2}, s.sent[0].Message.Failed)
}

func TestSignalsAreForwarded(t *testing.T) {
	s := running(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0)})
	s.do(s.r.Signal(s.now, 10))
	require.Equal(t, []Kind{KindSignal, KindSignal}, s.kinds())
	require.Equal(t, Signal{Number: 10}, *s.sent[1].Message.Signal)
}

func TestStrangersAreIgnored(t *testing.T) {
	s := four(t)
	s.handle(0, Message{Kind: KindExit, Exits: []Exit{{Proc: 3, Code: -1, Signal: 9}}}) // not its process
	s.handle(0, Message{Kind: KindExit, Exits: []Exit{{Proc: 99}}})
	s.handle(0, Message{Kind: KindJoin, Joins: []Join{{Proc: 99, Comm: 1, Op: OpAgree}, {Proc: 0, Comm: 99, Op: OpAgree}}})
	s.handle(0, Message{Kind: KindSuspect, Suspect: &Suspect{Proc: 99}})
	// Not its processes.
	s.handle(0, Message{Kind: KindJoin, Joins: []Join{{Proc: 2, Comm: 1, Op: OpAgree}}})
	require.Empty(t, s.r.rendezvous.ops)
	s.handle(0, Message{Kind: KindBye, Bye: &Bye{Proc: 2}})
	s.handle(0, Message{Kind: KindRevoke, Revoke: &Revoke{Comm: 99}})
	s.handle(7, Message{Kind: KindStop})
	s.handle(0, Message{Kind: KindStop})
	require.Empty(t, s.sent)
	require.Nil(t, s.end)
}

// A process that exits with code 0 has not left the job when others are in a further
// zone, whether they begin it after that or have returned from it.
func TestExitInALaterZone(t *testing.T) {
	for others := range 4 { // how many have come to the end of that zone before
		s := four(t)
		for p := range Proc(4) {
			s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{}, Step: NoStep})
		}
		for i, p := range []Proc{0, 1, 3, 2} {
			if i == others {
				s.exit(2, 0)
			}
			if p != 2 {
				s.of(p, Message{Kind: KindBegin, Begin: &Begin{Proc: p}})
				s.join(p, Join{Op: OpEnd, Seq: 1, Verdict: &driver.Verdict{}, Step: NoStep})
			}
		}
		require.Equal(t, driver.Outcome{Repair: true}, *s.made(0).Outcome)
		s.repairAll(2, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 3)
		s.hello(4)
		require.Equal(t, []Proc{0, 1, 4, 3}, s.made(0).New.Procs)
		require.Equal(t, "exit status 0 before the end of a zone", s.made(0).Change.Failed[0].Reason)
	}
}

// TestExitBeforeALaterZone: those who are in the further zone hear of it when they begin,
// and not when one of them comes to its end: they may wait for the one that is gone.
func TestExitBeforeALaterZone(t *testing.T) {
	s := four(t)
	for p := range Proc(4) {
		s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{}, Step: NoStep})
	}
	s.exit(2, 0)
	require.Equal(t, []Message{{Kind: KindFailed, Left: []Proc{2}}}, onceEach(s.messages(KindFailed)))
	s.sent = nil
	for _, p := range []Proc{0, 1, 3} {
		s.of(p, Message{Kind: KindBegin, Begin: &Begin{Proc: p}})
	}
	require.Equal(t, []Message{{Kind: KindFailed, Failed: []Proc{2}}}, onceEach(s.messages(KindFailed)))
}

// TestExitBetweenZonesAfterASignal: it may be the answer to the signal. When the others are
// still in the further zone at the end of the patience, it was none, and who waits for that
// rank hears of it.
func TestExitBetweenZonesAfterASignal(t *testing.T) {
	for _, code := range []int{0, 5} {
		for _, begun := range []bool{false, true} {
			s := four(t)
			s.do(s.r.Signal(s.now, sighup))
			for p := range Proc(4) {
				s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{}, Step: NoStep})
			}
			begin := func() {
				for _, p := range []Proc{0, 1, 3} {
					s.of(p, Message{Kind: KindBegin, Begin: &Begin{Proc: p}})
				}
			}
			if begun {
				begin()
			}
			s.exit(2, code)
			if !begun {
				begin()
			}
			s.sent = nil
			s.wait(StopPatience - time.Second)
			require.Empty(t, s.messages(KindFailed))
			s.wait(2 * time.Second)
			require.Equal(t, []Message{{Kind: KindFailed, Failed: []Proc{2}}}, onceEach(s.messages(KindFailed)))
		}
	}
}

// TestExitInAZoneAfterASignal: the bodies of the others go on, and may wait for the rank that
// is gone, or for another one that does: they hear of it when it was no answer.
func TestExitInAZoneAfterASignal(t *testing.T) {
	for name, c := range map[string]struct {
		end func(s *script) // of rank 2
		at  time.Duration   // after the signal
		due time.Duration   // after the end
	}{
		"an exit":           {func(s *script) { s.exit(2, 1) }, time.Second, StopPatience - time.Second},
		"the signal":        {func(s *script) { s.signalled(2, sighup) }, time.Second, StopPatience - time.Second},
		"the signal, later": {func(s *script) { s.signalled(2, sighup) }, 10 * StopPatience, StopPatience},
	} {
		t.Run(name, func(t *testing.T) {
			s := four(t)
			s.do(s.r.Signal(s.now, sighup))
			s.wait(c.at)
			s.sent = nil
			c.end(s)
			require.Equal(t, []Message{{Kind: KindFailed, Left: []Proc{2}}}, onceEach(s.messages(KindFailed)))
			s.sent = nil
			s.wait(c.due - time.Second)
			require.Empty(t, s.messages(KindFailed), "the others may be about to end as well")
			s.wait(2 * time.Second)
			require.Equal(t, []Message{{Kind: KindFailed, Failed: []Proc{2}}}, onceEach(s.messages(KindFailed)))
		})
	}
}

// TestZoneEndsWithoutARank: where a rank has exited in its body, or has not begun with it,
// the zone has not ended on all ranks, whatever that rank was asked for.
func TestZoneEndsWithoutARank(t *testing.T) {
	ends := func(s *script, v driver.Verdict, seq uint64, procs ...Proc) {
		for _, p := range procs {
			s.join(p, Join{Op: OpEnd, Seq: seq, Verdict: &v, Step: NoStep})
		}
	}
	for name, c := range map[string]struct {
		others driver.Verdict
		want   driver.Outcome
	}{
		"well":           {driver.Verdict{}, driver.Outcome{Repair: true}},
		"with an error":  {driver.Verdict{Err: "stopped"}, driver.Outcome{Err: "stopped"}},
		"with a failure": {driver.Verdict{Failure: true}, driver.Outcome{Repair: true}},
		"through it":     {driver.Verdict{Through: true}, driver.Outcome{}},
	} {
		t.Run(name, func(t *testing.T) {
			for before := range 4 { // how many have come to the end before
				s := four(t)
				s.do(s.r.Signal(s.now, sighup))
				others := []Proc{0, 1, 3}
				ends(s, c.others, 0, others[:before]...)
				s.exit(2, before%2*5)
				ends(s, c.others, 0, others[before:]...)
				require.Equal(t, c.want, *s.made(0).Outcome, before)
			}
		})
	}
	t.Run("the exit code of what was run through", func(t *testing.T) {
		s := four(t)
		s.do(s.r.Signal(s.now, sighup))
		s.exit(2, 5)
		ends(s, driver.Verdict{Through: true}, 0, 0, 1, 3)
		for _, p := range []Proc{0, 1, 3} {
			s.bye(p)
			s.exit(p, 0)
		}
		require.Equal(t, End{}, *s.end)
	})
	t.Run("it has not begun", func(t *testing.T) {
		s := four(t)
		s.do(s.r.Signal(s.now, sighup))
		ends(s, driver.Verdict{}, 0, 0, 1, 2, 3)
		s.exit(2, 0)
		ends(s, driver.Verdict{}, 1, 0, 1, 3)
		require.Equal(t, driver.Outcome{Repair: true}, *s.made(0).Outcome)
		s.repairAll(2, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 3)
		require.Len(t, s.starts, 4)
		s.wait(StopPatience)
		s.hello(4)
		require.Equal(t, []Proc{0, 1, 4, 3}, s.made(0).New.Procs, "NON-SHRINKING")
	})
}

// onceEach leaves out what another node was told as well.
func onceEach(list []Message) []Message {
	return slices.CompactFunc(list, func(a, b Message) bool { return reflect.DeepEqual(a, b) })
}

// TestExitAfterAZoneWithAnError: whatever the code, who has exited has not run the further
// zone of those who live with that error.
func TestExitAfterAZoneWithAnError(t *testing.T) {
	for others := range 4 { // how many have come to the end of that zone before
		s := four(t)
		for p := range Proc(4) {
			s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{Err: "no luck"}, Step: NoStep})
		}
		for i, p := range []Proc{0, 1, 3, 2} {
			if i == others {
				s.exit(2, others%2)
			}
			if p != 2 {
				s.of(p, Message{Kind: KindBegin, Begin: &Begin{Proc: p}})
				s.join(p, Join{Op: OpEnd, Seq: 1, Verdict: &driver.Verdict{}, Step: NoStep})
			}
		}
		require.Equal(t, driver.Outcome{Repair: true}, *s.made(0).Outcome, others)
	}
}
