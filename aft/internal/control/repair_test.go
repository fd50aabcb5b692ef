package control

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

func (s *script) repairAll(seq uint64, id CommID, p *driver.Policy, procs ...Proc) {
	for _, q := range procs {
		s.join(q, Join{Op: OpRepair, Comm: id, Seq: seq, Policy: p, Step: NoStep})
	}
}

// TestDifferentPolicies: the error says in what they differ.
func TestDifferentPolicies(t *testing.T) {
	for says, other := range map[string]driver.Policy{
		"rank 2 for SHRINKING, REUSE;":                   {Recovery: driver.Shrinking, Spawn: driver.Reuse},
		"rank 2 for GLOBAL-RESTART, NO-REUSE;":           {Recovery: driver.GlobalRestart, Spawn: driver.NoReuse},
		"rank 2 for GLOBAL-RESTART, REUSE, synchronous;": {Recovery: driver.GlobalRestart, Spawn: driver.Reuse, Synchronous: true},
	} {
		s := four(t)
		s.kill(1)
		s.repairAll(0, 1, policy(driver.GlobalRestart, driver.Reuse), 0, 3)
		s.repairAll(0, 1, &other, 2)
		require.Contains(t, s.made(0).Err, "rank 0 asks for GLOBAL-RESTART, REUSE and "+says)
		require.Equal(t, s.made(0).Err, s.made(2).Err)
	}
}

func TestShrinkingRepair(t *testing.T) {
	s := four(t)
	s.kill(1)
	s.now = s.now.Add(time.Millisecond)
	s.repairAll(0, 1, policy(driver.Shrinking, driver.Reuse), 0, 2)
	s.now = s.now.Add(time.Millisecond)
	s.repairAll(0, 1, policy(driver.Shrinking, driver.Reuse), 3)
	require.Equal(t, []Proc{0, 2, 3}, s.made(0).New.Procs)
	require.Equal(t, driver.Change{
		Epoch:  1,
		Failed: []driver.Loss{{Original: 1, Rank: 1, Node: 0, Reason: "signal 9"}},
		Ranks:  []int{0, -1, 1, 2},
		Phases: driver.RepairPhases{Gather: time.Millisecond},
	}, *s.made(3).Change)
	for _, p := range []Proc{0, 2, 3} {
		s.bye(p)
		s.exit(p, 0)
	}
	require.Equal(t, End{}, *s.end, "the failure was dealt with")
}

func TestNonShrinkingRepair(t *testing.T) {
	s := four(t)
	s.kill(2)
	s.sent = nil
	s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 3)
	require.Equal(t, []Kind{KindStart}, s.kinds())
	require.Equal(t, Start{Proc: 4, Original: 2, Epoch: 1}, s.starts[4])
	require.Equal(t, Node(1), s.where[4], "REUSE: where it failed")
	s.now = s.now.Add(time.Millisecond)
	s.of(4, Message{Kind: KindStarted, Started: []Proc{4}})
	s.now = s.now.Add(2 * time.Millisecond)
	s.sent = nil
	s.hello(4)
	require.Equal(t, []Kind{KindPeers, KindPeers, KindPeers, KindMade, KindMade, KindMade}, s.kinds())
	require.Equal(t, []Proc{4}, s.sent[2].Message.To)
	require.Len(t, s.sent[2].Message.Peers, 4, "the new one learns of all")
	require.Len(t, s.sent[0].Message.Peers, 1, "the others of the new one")
	group := &Group{ID: 2, Procs: []Proc{0, 1, 4, 3}}
	require.Equal(t, group, s.made(0).New)
	require.Equal(t, []int{2}, s.made(0).Change.Replaced)
	require.Equal(t, []int{0, 1, 2, 3}, s.made(0).Change.Ranks)
	require.Equal(t, driver.RepairPhases{Spawn: time.Millisecond, Connect: 2 * time.Millisecond}, s.made(0).Change.Phases)
	require.Equal(t, Made{New: group, Change: s.made(0).Change, Epoch: 1, Replacement: true}, s.made(4))
}

func TestFailuresDuringTheRepair(t *testing.T) {
	s := four(t)
	s.kill(0)
	s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 1, 2, 3) // starts 4
	s.kill(4)                                                             // a replacement: 5
	s.kill(1)                                                             // a survivor: 6
	s.hello(6)
	s.kill(6) // a replacement that was ready: 7
	s.hello(5)
	require.Nil(t, s.made(2).New)
	s.hello(7)
	require.Equal(t, []Proc{5, 7, 2, 3}, s.made(2).New.Procs)
	require.Equal(t, []int{0, 1}, s.made(2).Change.Replaced)
	require.Len(t, s.made(2).Change.Failed, 4)
	require.Equal(t, 1, s.made(2).Change.Epoch)
}

func TestDownToOneRank(t *testing.T) {
	s := four(t)
	id := CommID(1)
	p := policy(driver.Shrinking, driver.Reuse)
	for dead := range Proc(3) {
		s.kill(dead)
		for q := dead + 1; q < 4; q++ {
			s.repairAll(0, id, p, q)
		}
		id = s.made(3).New.ID
		require.Len(t, s.made(3).New.Procs, int(3-dead))
	}
	s.kill(3)
	require.Equal(t, 1, s.end.Code)
	require.Contains(t, s.end.Report, "no rank is left")
}

func TestAllRanksFailAtOnce(t *testing.T) {
	s := four(t)
	for p := range Proc(3) {
		s.kill(p)
	}
	s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 3)
	require.Len(t, s.starts, 7)
	s.kill(3) // the last one that knew of the repair
	for p := Proc(4); p < 8; p++ {
		s.hello(p)
	}
	require.Equal(t, []Proc{4, 5, 6, 7}, s.made(4).New.Procs)
	require.True(t, s.made(7).Replacement)
	// And once more, without any repair asked for.
	for p := Proc(4); p < 8; p++ {
		s.kill(p)
	}
	for p := Proc(8); p < 12; p++ {
		s.hello(p)
	}
	require.Equal(t, []Proc{8, 9, 10, 11}, s.made(8).New.Procs)
	require.Equal(t, 2, s.made(8).Epoch)
}

func TestPoliciesMustBeTheSame(t *testing.T) {
	s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
	s.repairAll(0, 1, policy(driver.Shrinking, driver.Reuse), 0)
	s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 1)
	require.Contains(t, s.made(0).Err, "rank 1 for NON-SHRINKING, REUSE")
	s.repairAll(1, 1, policy("half", ""), 0, 1)
	require.Contains(t, s.made(0).Err, `"half"`)
}

// TestOneEndsWhileOthersRepair: decision "a rank that had finished runs again".
func TestOneEndsWhileOthersRepair(t *testing.T) {
	s := four(t)
	p := policy(driver.Shrinking, driver.Reuse)
	s.join(0, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	s.kill(3)
	s.repairAll(0, 1, p, 1, 2)
	require.True(t, s.made(0).Outcome.Repair)
	s.repairAll(1, 1, p, 0)
	for q := range Proc(3) {
		require.Equal(t, []Proc{0, 1, 2}, s.made(q).New.Procs)
	}
	require.Equal(t, OfZone.Seq(0), s.made(1).Seq, "each gets the answer to its own call")
	require.Equal(t, OfZone.Seq(1), s.made(0).Seq)
}

func TestWhoCalledAnotherOperationHasDied(t *testing.T) {
	s := four(t)
	s.repairAll(0, 1, nil, 1)
	for _, p := range []Proc{0, 2} {
		s.join(p, Join{Op: OpEnd, Verdict: failing()})
	}
	s.kill(1)
	s.join(3, Join{Op: OpEnd, Verdict: failing()})
	require.True(t, s.made(0).Outcome.Repair)
	require.Empty(t, s.made(0).Err)
}

func TestReplacementLearnsTheZone(t *testing.T) {
	s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
	for p := range Proc(2) {
		s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	}
	s.kill(0)
	s.repairAll(1, 1, policy(driver.NonShrinking, driver.Reuse), 1)
	s.hello(2)
	require.Equal(t, 1, s.made(2).Zone)
}

func TestPlacementOfReplacements(t *testing.T) {
	t.Run("spare nodes, spread", func(t *testing.T) {
		s := running(t, RootConfig{Size: 4, Nodes: nodesOf(4, 2)})
		s.kill(0)
		s.kill(1)
		s.kill(2)
		s.repairAll(0, 1, policy(driver.NonShrinking, driver.NoReuse), 3)
		require.Equal(t, []Node{2, 3, 2}, s.placed()[4:])
		s.hello(4)
		s.hello(5)
		s.hello(6)
		// Node 2 has had a failure: it is not used again. Then none is left.
		s.kill(4)
		s.repairAll(0, 2, policy(driver.NonShrinking, driver.NoReuse), 3, 5, 6)
		require.Equal(t, Node(3), s.where[7])
		s.hello(7)
		s.kill(7)
		s.repairAll(0, 3, policy(driver.NonShrinking, driver.NoReuse), 3, 5, 6)
		require.Equal(t, Node(3), s.where[8], "REUSE: where it failed")
		require.Contains(t, s.notes[len(s.notes)-2], "no spare node is left")
	})
	t.Run("a lost node", func(t *testing.T) {
		s := running(t, RootConfig{Size: 6, Nodes: nodesOf(3, 0)})
		s.do(s.r.Lost(s.now, 1, "exit status 1", true))
		s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 4, 5)
		require.Equal(t, []Node{0, 2}, s.placed()[6:])
	})
	t.Run("slots", func(t *testing.T) {
		nodes := nodesOf(3, 0)
		nodes[0].Slots, nodes[1].Slots, nodes[2].Slots = 2, 2, 4
		s := running(t, RootConfig{Size: 6, Nodes: nodes})
		s.do(s.r.Lost(s.now, 1, "exit status 1", true))
		s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 4, 5)
		require.Equal(t, []Node{2, 2}, s.placed()[6:])
	})
	t.Run("no node", func(t *testing.T) {
		s := running(t, RootConfig{Size: 1, Nodes: nodesOf(1, 0)})
		s.do(s.r.Lost(s.now, 0, "exit status 1", true))
		require.Equal(t, 1, s.end.Code)
		require.Contains(t, s.end.Report, "no node is left to replace rank 0")
	})
}

func TestWhoDoesNotComeIsFenced(t *testing.T) {
	s := four(t)
	s.join(0, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	for range 200 { // without a failure bodies take as long as they like
		s.pulses()
		s.tick(600 * time.Millisecond)
	}
	require.Empty(t, s.killed(1))
	s = four(t)
	s.kill(3)
	s.join(0, Join{Op: OpEnd, Verdict: &driver.Verdict{Through: true}})
	for range 200 { // nor with one that they run through
		s.pulses()
		s.tick(600 * time.Millisecond)
	}
	require.Empty(t, s.killed(1))
	s = four(t)
	s.join(0, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	heard := s.now
	s.tick(testTiming.Period) // the others are told that it waits
	require.Equal(t, heard.Add(1200*time.Millisecond), s.r.Next())
	s.kill(3)
	for range 100 {
		s.pulses()
		s.tick(600 * time.Millisecond)
	}
	require.Equal(t, "did not come to the repair within 1m0s", s.killed(1))
	require.NotEmpty(t, s.killed(2))
	require.Empty(t, s.killed(0))
	s.pulses()
	require.Equal(t, s.r.members.silentAt, s.r.Next(), "once: nothing is due but a look at the nodes")
	s.kill(1)
	s.kill(2)
	require.True(t, s.made(0).Outcome.Repair)

	// A replacement that does not start.
	s.repairAll(1, 1, policy(driver.NonShrinking, driver.Reuse), 0)
	s.hello(4)
	s.hello(5)
	for range 100 {
		s.pulses()
		s.tick(600 * time.Millisecond)
	}
	require.NotEmpty(t, s.killed(6))
}

// TestWhoIsWaitedForIsNamed when half of the patience is over, once, with its stack.
func TestWhoIsWaitedForIsNamed(t *testing.T) {
	s := four(t)
	s.kill(3)
	s.notes = nil
	s.join(0, Join{Op: OpRepair})
	for range 49 {
		s.pulses()
		s.tick(600 * time.Millisecond)
	}
	require.Empty(t, s.notes)
	for range 20 {
		s.pulses()
		s.tick(600 * time.Millisecond)
	}
	require.Equal(t, []string{"everybody waits for ranks that do not come to the repair: they will be killed"}, s.notes)
	asked := s.messages(KindStack)
	require.Equal(t, []Message{{Kind: KindStack, To: []Proc{1}, Stack: &Stack{Proc: 1}}, {Kind: KindStack, Stack: &Stack{Proc: 2}}}, asked, "2 is alone on its node")
	s.of(1, Message{Kind: KindStack, Stack: &Stack{Proc: 1, Text: "goroutine 1 [running]:\nmain.compute(...)\n\t/src/main.go:7 +0x1d\nmain.main()\n\t/src/main.go:3\n"}})
	require.Equal(t, []string{"where it is: goroutine 1 [running]:", "where it is: main.compute(...) /src/main.go:7 +0x1d", "where it is: main.main() /src/main.go:3"}, s.notes[1:])
}

func TestLedger(t *testing.T) {
	repairs := func(t *testing.T, step func(round int) int64, kill func(s *script, p Proc)) int {
		s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
		id, victim := CommID(1), Proc(1)
		for round := range 50 {
			kill(s, victim)
			s.join(0, Join{Op: OpRepair, Comm: id, Policy: policy(driver.NonShrinking, driver.Reuse), Step: step(round)})
			if s.end != nil {
				require.Equal(t, 1, s.end.Code)
				require.Contains(t, s.end.Report, "rank 1 has failed")
				require.Contains(t, s.end.Report, "--max-repeats")
				return round
			}
			victim = Proc(2 + round)
			s.hello(victim)
			id = s.made(0).New.ID
		}
		return 50
	}
	same := func(s *script, p Proc) { s.kill(p) }
	require.Equal(t, 2, repairs(t, func(int) int64 { return 137 }, same), "the third failure at the same step")
	require.Equal(t, 50, repairs(t, func(round int) int64 { return int64(round) }, same), "it gets on")
	require.Equal(t, 8, repairs(t, func(int) int64 { return NoStep }, same), "no steps: three times as often")
	require.Equal(t, 50, repairs(t, func(round int) int64 { return int64(round / 2) }, same), "steps 0 0 1 1: it gets on")
	n := 0
	require.Equal(t, 4, repairs(t, func(int) int64 { return 1 }, func(s *script, p Proc) {
		n++
		s.signalled(p, 9+n%2)
	}), "the third one of one of two causes")
}

// Each zone counts its own steps.
func TestLedgerOfALaterZone(t *testing.T) {
	repairs := func(step func(round int) int64) int {
		s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
		for p := range Proc(2) {
			s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{}, Step: 1000})
		}
		id, victim := CommID(1), Proc(1)
		for round := range 20 {
			// Also what was the last step in the zone before.
			s.of(victim, Message{Kind: KindExit, Exits: []Exit{{Proc: victim, Code: -1, Signal: 9, Zone: 0, Step: 1000}}})
			s.join(0, Join{Op: OpRepair, Comm: id, Policy: policy(driver.NonShrinking, driver.Reuse), Step: step(round)})
			if s.end != nil {
				require.NotContains(t, s.end.Report, "step 1000")
				return round
			}
			victim = Proc(2 + round)
			s.hello(victim)
			id = s.made(0).New.ID
		}
		return 20
	}
	require.Equal(t, 20, repairs(func(round int) int64 { return int64(round) }), "it gets on")
	require.Equal(t, 2, repairs(func(int) int64 { return 5 }), "the third failure at the same step")
}

// TestNobodyComes: the bodies of all survivors ignore that recovery has begun.
func TestNobodyComes(t *testing.T) {
	wait := func(s *script, d time.Duration) {
		for until := s.now.Add(d); s.now.Before(until); {
			s.pulses()
			s.tick(600 * time.Millisecond)
		}
	}
	revoke := Message{Kind: KindRevoke, Revoke: &Revoke{Comm: 1, Derived: true}}

	s := four(t)
	s.of(0, revoke) // without a failure, for an error of its own
	wait(s, 2*testTiming.Repair)
	require.Empty(t, s.killed(1))

	s = four(t)
	s.kill(3)
	wait(s, 2*testTiming.Repair) // they run through the failure
	require.Empty(t, s.killed(1))
	s.of(0, revoke)
	wait(s, testTiming.Repair*6/10)
	require.Len(t, s.messages(KindStack), 3, "they are named, and where they are")
	require.Empty(t, s.killed(1))
	s.of(1, revoke) // by its own clock: nothing new
	wait(s, testTiming.Repair*5/10)
	for p := range Proc(3) {
		require.Equal(t, "did not come to the repair within 1m0s", s.killed(p))
	}
	s.pulses()
	require.Equal(t, s.r.members.silentAt, s.r.Next(), "once: nothing is due but a look at the nodes")
	for p := range Proc(3) {
		s.kill(p)
	}
	require.Len(t, s.starts, 8, "all are started again")

	// Who comes in the end has all the time for the repair that there is.
	s = four(t)
	s.kill(3)
	s.of(0, revoke)
	wait(s, testTiming.Repair*9/10)
	for p := range Proc(3) {
		s.join(p, Join{Op: OpEnd, Verdict: failing()})
	}
	require.True(t, s.made(0).Outcome.Repair)
	wait(s, testTiming.Repair*9/10)
	require.Empty(t, s.killed(0))
	wait(s, testTiming.Repair*2/10)
	require.NotEmpty(t, s.killed(0))
}
