package control

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// begin has processes begin with a zone that recovers with a policy.
func (s *script) begin(p *driver.Policy, procs ...Proc) {
	for _, q := range procs {
		s.of(q, Message{Kind: KindBegin, Begin: &Begin{Proc: q, Policy: p}})
	}
}

// fourAtDetection is a job in a zone that is rolled back at the detection, on two nodes.
func fourAtDetection(t *testing.T, spawn driver.SpawnPolicy) *script {
	s := running(t, RootConfig{Size: 4, Nodes: nodesOf(3, 1), Repeats: 3})
	s.begin(policy(driver.GlobalRestart, spawn), 0, 1, 2, 3)
	s.sent = nil
	return s
}

// TestProcessFailureOfThePaper: algorithm 1, "recovery of a process": the root has the survivors rolled
// back, and the lost rank started again by the same daemon (algorithm 2), at the detection; when
// all have come (algorithm 3, the barrier) there is a world of as many ranks.
func TestProcessFailureOfThePaper(t *testing.T) {
	s := fourAtDetection(t, driver.Reuse)
	s.kill(1)
	require.Equal(t, []Kind{KindFailed, KindFailed, KindFailed, KindRevoke, KindRevoke, KindRevoke, KindStart}, s.kinds(), "nobody has asked")
	require.Equal(t, Revoke{Comm: 1, Derived: true}, *s.messages(KindRevoke)[0].Revoke)
	require.Equal(t, []Start{{Proc: 4, Original: 1, Epoch: 1}}, s.messages(KindStart)[0].Start)
	require.Equal(t, Node(0), s.where[4])

	p := policy(driver.GlobalRestart, driver.Reuse)
	s.repairAll(0, 1, p, 0, 2)
	s.hello(4)
	require.Nil(t, s.made(4).New, "rank 3 has not come")
	s.repairAll(0, 1, p, 3)
	require.Equal(t, []Proc{0, 4, 2, 3}, s.made(3).New.Procs)
	require.Equal(t, s.made(3).New, s.made(4).New)
	require.Equal(t, []int{1}, s.made(3).Change.Replaced)
	require.True(t, s.made(4).Replacement)
	require.Len(t, s.starts, 5)

	s.sent = nil
	s.begin(p, 4)
	s.kill(0) // the zone goes on with that policy
	require.Equal(t, []Start{{Proc: 5, Original: 0, Epoch: 2}}, s.messages(KindStart)[0].Start)
	require.Equal(t, CommID(2), s.messages(KindRevoke)[0].Revoke.Comm)
}

// TestNodeFailureOfThePaper: algorithm 1, "recovery of a node": all its ranks are started again,
// on a spare node or on the one with the fewest ranks.
func TestNodeFailureOfThePaper(t *testing.T) {
	for spawn, want := range map[driver.SpawnPolicy]Node{driver.NoReuse: 2, driver.Reuse: 2} {
		s := fourAtDetection(t, spawn)
		s.do(s.r.Lost(s.now, 1, "off", true))
		require.Equal(t, []Start{{Proc: 4, Original: 2, Epoch: 1}, {Proc: 5, Original: 3, Epoch: 1}}, s.messages(KindStart)[0].Start)
		require.Equal(t, []Node{want, want}, s.placed()[4:])
		s.hello(4)
		s.hello(5)
		s.repairAll(0, 1, policy(driver.GlobalRestart, spawn), 0, 1)
		require.Equal(t, []Proc{0, 1, 4, 5}, s.made(5).New.Procs)
	}
}

// TestFailuresInARollBack: replacements that die are replaced, and so are survivors, until nobody
// is left to ask for the repair.
func TestFailuresInARollBack(t *testing.T) {
	s := fourAtDetection(t, driver.Reuse)
	s.kill(1)
	s.kill(4)
	s.kill(3)
	require.Equal(t, []Start{{Proc: 5, Original: 1, Epoch: 1}, {Proc: 6, Original: 3, Epoch: 1}}, s.starts[5:])
	s.hello(5)
	require.Len(t, s.messages(KindRevoke), 3, "once to each node")
	s.repairAll(0, 1, policy(driver.GlobalRestart, driver.Reuse), 0, 2)
	s.hello(6)
	require.Equal(t, []Proc{0, 5, 2, 6}, s.made(5).New.Procs)
	require.Len(t, s.made(0).Change.Failed, 3)

	s = fourAtDetection(t, driver.Reuse)
	for p := range Proc(4) {
		s.kill(p)
	}
	require.Len(t, s.starts, 8)
	for p := range Proc(4) {
		s.hello(4 + p)
	}
	require.Equal(t, []Proc{4, 5, 6, 7}, s.made(4).New.Procs)
}

// TestLedgerOfARollBack: it counts as in any repair, and so do the delays of lost nodes.
func TestLedgerOfARollBack(t *testing.T) {
	s := fourAtDetection(t, driver.Reuse)
	s.kill(1)
	for p := Proc(4); s.end == nil; p++ {
		s.kill(p)
	}
	require.Len(t, s.starts, 4+8)
	require.Contains(t, s.end.Report, "rank 1 has failed 9 times in the same way")

	s = fourAtDetection(t, driver.NoReuse)
	s.of(0, Message{Kind: KindExit, Exits: []Exit{{Proc: 0, Code: -1, Signal: 9, Step: 1}}})
	s.do(s.r.Lost(s.now, 1, "off", true))
	require.Len(t, s.starts, 7)
	s.do(s.r.Lost(s.now, 2, "off", true))
	require.Len(t, s.starts, 8, "the second loss of ranks 2 and 3 without progress")
	require.Contains(t, s.notes, "a replacement waits: losses follow one another without progress")
	s.tick(time.Second)
	require.Len(t, s.starts, 10)
}

// TestOtherPolicyInARollBack: the survivors ask for another one than they have named.
func TestOtherPolicyInARollBack(t *testing.T) {
	s := fourAtDetection(t, driver.NoReuse)
	s.kill(1)
	s.hello(4)
	s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 0, 2, 3)
	require.Equal(t, []Proc{0, 4, 2, 3}, s.made(0).New.Procs, "it has the same ranks replaced")
	require.Len(t, s.starts, 5)

	s = fourAtDetection(t, driver.NoReuse)
	s.kill(1)
	s.hello(4)
	s.repairAll(0, 1, policy(driver.Shrinking, driver.Reuse), 0, 2, 3)
	require.Equal(t, []Proc{0, 2, 3}, s.made(0).New.Procs)
	require.NotEmpty(t, s.killed(4))
	require.Nil(t, s.made(4).New)
	s.kill(4)
	require.Nil(t, s.end)
}

// TestNoRollBackInARepair: whoever is taken for failed by the repair that the survivors have come to is
// replaced by that, once.
func TestNoRollBackInARepair(t *testing.T) {
	s := fourAtDetection(t, driver.Reuse)
	s.do(s.r.Signal(s.now, sighup))
	s.exit(1, 1)
	p := policy(driver.GlobalRestart, driver.Reuse)
	s.repairAll(0, 1, p, 0, 2, 3)
	require.Len(t, s.starts, 4, "it seems to have left")
	s.now = s.now.Add(StopPatience)
	s.pulses()
	s.of(0, Message{Kind: KindStarted, Started: []Proc{0}}) // before Tick
	s.tick(0)
	require.Len(t, s.starts, 5)
	s.hello(4)
	require.Equal(t, []Proc{0, 4, 2, 3}, s.made(0).New.Procs)
}

// TestNoRollBack: what begins at the survivors' repair, as with any other policy.
func TestNoRollBack(t *testing.T) {
	at, plain := policy(driver.GlobalRestart, driver.Reuse), policy(driver.NonShrinking, driver.Reuse)
	for name, before := range map[string]func(s *script){
		"nobody has begun":   func(*script) {},
		"another policy":     func(s *script) { s.begin(plain, 0, 1, 2, 3) },
		"different policies": func(s *script) { s.begin(at, 0, 1, 2); s.begin(plain, 3) },
		"an unknown one":     func(s *script) { s.begin(policy("ANY", driver.Reuse), 0, 1, 2, 3) },
		"behind the zone": func(s *script) {
			s.begin(at, 0, 1, 2, 3)
			s.endZone(driver.Verdict{})
		},
		"it has only seemed to leave": func(s *script) {
			s.begin(at, 0, 1, 2, 3)
			s.do(s.r.Signal(s.now, sighup))
			s.exit(1, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := four(t)
			before(s)
			if s.r.members.proc(1) != nil {
				s.kill(1)
			}
			require.Len(t, s.starts, 4)
			require.Empty(t, s.messages(KindRevoke))
		})
	}
}

// TestPolicyOfTheJob: ranks that name none have that of the configuration.
func TestPolicyOfTheJob(t *testing.T) {
	s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0), Policy: *policy(driver.GlobalRestart, driver.Reuse)})
	s.begin(nil, 0)
	s.kill(1) // has not begun with it
	require.Len(t, s.starts, 3)
}

// TestEndOfAJobInARollBack: all survivors end as they were asked to: nobody is there to replace
// one for.
func TestEndOfAJobInARollBack(t *testing.T) {
	s := fourAtDetection(t, driver.Reuse)
	s.kill(1)
	s.hello(4)
	s.do(s.r.Signal(s.now, sighup))
	for _, p := range []Proc{0, 2, 3} {
		s.exit(p, 75)
	}
	require.NotEmpty(t, s.killed(4))
	s.kill(4)
	require.NotNil(t, s.end)
	require.Equal(t, 75, s.end.Code)
	require.Len(t, s.starts, 5)
}

// TestNoRollBackWhenAskedToEnd: the others may be about to end too, as they were asked to; if they are not,
// they come to the repair, or the root does not wait for them any longer.
func TestNoRollBackWhenAskedToEnd(t *testing.T) {
	panics := func() *script {
		s := fourAtDetection(t, driver.Reuse)
		s.do(s.r.Signal(s.now, sighup))
		s.of(1, Message{Kind: KindExit, Exits: []Exit{{Proc: 1, Code: 2, Panic: "nil map", Step: NoStep}}})
		return s
	}
	s := panics()
	for _, p := range []Proc{0, 2, 3} {
		s.exit(p, 0)
	}
	require.Equal(t, End{Code: 2, Report: "rank 1 (process 1 on node n0): exit status 2 (nil map)"}, *s.end)
	require.Len(t, s.starts, 4)

	s = panics()
	s.repairAll(0, 1, policy(driver.GlobalRestart, driver.Reuse), 0, 2, 3)
	s.hello(4)
	require.Equal(t, []Proc{0, 4, 2, 3}, s.made(0).New.Procs)

	s = panics()
	require.Equal(t, s.now.Add(StopPatience), s.r.deploy.retry)
	s.now = s.now.Add(StopPatience)
	s.pulses()
	s.tick(0)
	require.Len(t, s.messages(KindRevoke), 3)
	require.Len(t, s.starts, 5)
}

// TestFailureThatEndsAJobInARollBack: a replacement that has failed, and was not replaced before all
// survivors ended, counts as it does in a repair.
func TestFailureThatEndsAJobInARollBack(t *testing.T) {
	s := fourAtDetection(t, driver.Reuse)
	silent := func(p Proc) {
		s.of(p, Message{Kind: KindExit, Exits: []Exit{{Proc: p, Code: -1, Signal: 9, Fenced: true, Step: 1}}})
	}
	silent(1)
	silent(4)
	require.Len(t, s.starts, 5, "the second loss waits")
	s.do(s.r.Signal(s.now, sighup))
	for _, p := range []Proc{0, 2, 3} {
		s.exit(p, 0)
	}
	require.Equal(t, End{Code: 137, Report: "rank 1 (process 4 on node n0): signal 9"}, *s.end)
}

// TestThroughARollBack: bodies that run to their end all the same have needed nobody.
func TestThroughARollBack(t *testing.T) {
	s := fourAtDetection(t, driver.Reuse)
	s.kill(1)
	for _, p := range []Proc{0, 2, 3} {
		s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{Through: true}, Step: NoStep})
	}
	require.Equal(t, driver.Outcome{}, *s.made(0).Outcome)
	require.NotEmpty(t, s.killed(4))
}

// TestSlowReplacementOfARollBack: one that does not say Hello is killed as in any repair, and
// survivors are that do not come.
func TestSlowReplacementOfARollBack(t *testing.T) {
	s := fourAtDetection(t, driver.Reuse)
	s.kill(1)
	for range 121 {
		s.tick(500 * time.Millisecond)
		s.pulses()
	}
	require.Contains(t, s.killed(4), "did not come to the repair within 1m0s")
	require.Contains(t, s.killed(3), "did not come to the repair within 1m0s")
}

// TestNoSlotLeft: those for whom a slot is left are replaced, and the others' ranks are gone.
func TestNoSlotLeft(t *testing.T) {
	nodes := nodesOf(2, 0)
	nodes[0].Slots, nodes[1].Slots = 2, 2
	p := policy(driver.GlobalRestart, driver.NoReuse)
	s := running(t, RootConfig{Size: 4, Nodes: nodes})
	s.begin(p, 0, 1, 2, 3)
	s.do(s.r.Lost(s.now, 1, "off", true))
	require.Len(t, s.messages(KindRevoke), 1, "the survivors are rolled back all the same")
	require.Len(t, s.starts, 4)
	s.kill(1)
	require.Equal(t, Start{Proc: 4, Original: 1, Epoch: 1}, s.starts[4], "its own slot is free")
	s.repairAll(0, 1, p, 0)
	s.hello(4)
	require.Equal(t, []Proc{0, 4}, s.made(0).New.Procs)
	require.Equal(t, []int{1}, s.made(0).Change.Replaced)
	require.Equal(t, []int{0, 1, -1, -1}, s.made(0).Change.Ranks)
}

// evict is the end of a process that is in the way of a roll-back.
func (s *script) evict(p Proc) {
	s.of(p, Message{Kind: KindExit, Exits: []Exit{{Proc: p, Code: -1, Signal: 9, Why: "it did not end", Fenced: true, Evicted: true, Step: 1}}})
}

// TestEvicted: who is in the way of a roll-back has not failed: it is replaced at its place, at once and
// as often as others fail, by the repair that is under way.
func TestEvicted(t *testing.T) {
	s := fourAtDetection(t, driver.NoReuse)
	s.kill(1)
	s.evict(3)
	require.Equal(t, []Start{{Proc: 4, Original: 1, Epoch: 1}, {Proc: 5, Original: 3, Epoch: 1}}, s.starts[4:])
	require.Equal(t, []Node{2, 1}, s.placed()[4:], "the node of the evicted one is as good as before")
	require.Len(t, s.messages(KindRevoke), 3)
	for p := Proc(5); p < 5+2*DefaultRepeats+5; p++ {
		s.evict(p)
	}
	require.Nil(t, s.end)
	require.NotContains(t, s.notes, "a replacement waits: losses follow one another without progress")
	for p := Proc(5 + 2*DefaultRepeats + 5); s.end == nil; p++ {
		s.evict(p)
	}
	require.Contains(t, s.end.Report, "20 times processes were replaced whose bodies did not end in a roll-back")
}

// TestHeirOfAnEvicted: what a process in the way has left goes to its replacement, and if that dies before it has come to the
// repair, to the next one; nothing is left by a process that has failed.
func TestHeirOfAnEvicted(t *testing.T) {
	s := fourAtDetection(t, driver.Reuse)
	s.kill(1)
	require.Empty(t, s.messages(KindInherit))
	s.evict(3)
	require.Equal(t, Inherit{From: 3, To: 5}, *s.messages(KindInherit)[0].Inherit)
	s.kill(5)
	require.Equal(t, Start{Proc: 6, Original: 3, Epoch: 1}, s.starts[6])
	require.Len(t, s.messages(KindInherit), 2)
	require.Equal(t, Inherit{From: 5, To: 6}, *s.messages(KindInherit)[1].Inherit)
}

// TestSynchronousRollBack: the program is told, and the replacement is started; nothing is revoked.
func TestSynchronousRollBack(t *testing.T) {
	s := running(t, RootConfig{Size: 4, Nodes: nodesOf(2, 0)})
	p := policy(driver.GlobalRestart, driver.Reuse)
	p.Synchronous = true
	s.begin(p, 0, 1, 2, 3)
	s.sent = nil
	s.kill(1)
	require.Equal(t, []Kind{KindFailed, KindFailed, KindStart}, s.kinds())
	s.repairAll(0, 1, p, 0, 2, 3)
	s.hello(4)
	require.Equal(t, []Proc{0, 4, 2, 3}, s.made(0).New.Procs)
}

// TestDaemonDiesInTheBroadcast: algorithm 1, a node is lost that has been told to roll back and to start a
// replacement: its ranks and the replacement are lost too, and are started elsewhere, in the same
// roll-back.
func TestDaemonDiesInTheBroadcast(t *testing.T) {
	s := fourAtDetection(t, driver.Reuse)
	s.kill(1) // node 0 is told to start process 4, and has not
	require.Equal(t, Node(0), s.where[4])
	s.do(s.r.Lost(s.now, 0, "off", true))
	require.Equal(t, []Start{{Proc: 5, Original: 0, Epoch: 1}, {Proc: 6, Original: 1, Epoch: 1}}, s.starts[5:])
	require.NotContains(t, s.placed()[5:], Node(0))
	require.Len(t, s.messages(KindRevoke), 3, "all were rolled back once")
	p := policy(driver.GlobalRestart, driver.Reuse)
	s.repairAll(0, 1, p, 2, 3)
	s.hello(5)
	s.hello(6)
	require.Equal(t, []Proc{5, 6, 2, 3}, s.made(2).New.Procs)
	require.Len(t, s.made(2).Change.Failed, 3)
}

// TestRankDiesInTheBarrier: algorithm 3, a survivor dies that has come to the barrier, and the others wait there for a
// replacement: it is replaced too.
func TestRankDiesInTheBarrier(t *testing.T) {
	s := fourAtDetection(t, driver.Reuse)
	p := policy(driver.GlobalRestart, driver.Reuse)
	s.kill(1)
	s.repairAll(0, 1, p, 0, 2, 3)
	s.hello(4)
	require.Nil(t, s.end)
	s.begin(p, 4) // the world is there: the body runs again
	s.sent = nil
	s.kill(2) // while the others are in its first barrier
	require.Equal(t, CommID(2), s.messages(KindRevoke)[0].Revoke.Comm)

	s = fourAtDetection(t, driver.Reuse)
	s.kill(1)
	s.repairAll(0, 1, p, 0, 2, 3) // wait for process 4
	s.kill(3)
	require.Equal(t, []Start{{Proc: 5, Original: 3, Epoch: 1}}, s.starts[5:])
	s.hello(4)
	require.Nil(t, s.made(0).New)
	s.hello(5)
	require.Equal(t, []Proc{0, 4, 2, 5}, s.made(0).New.Procs)
}
