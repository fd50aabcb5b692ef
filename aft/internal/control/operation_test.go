package control

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

func four(t *testing.T) *script { return running(t, RootConfig{Size: 4, Nodes: nodesOf(2, 0)}) }

func TestFailuresAreToldAtOnce(t *testing.T) {
	s := running(t, RootConfig{Size: 4, Nodes: nodesOf(3, 1)})
	s.kill(1)
	require.Equal(t, []Kind{KindFailed, KindFailed, KindFailed}, s.kinds(), "to all nodes")
	require.Equal(t, []Proc{1}, s.sent[0].Message.Failed)
	s.kill(1)
	require.Len(t, s.sent, 3, "once")
	// A failure is told before the decision that rests on it.
	for _, p := range []Proc{0, 2} {
		s.join(p, Join{Op: OpShrink})
	}
	s.sent = nil
	s.kill(3)
	require.Equal(t, []Kind{KindFailed, KindFailed, KindFailed, KindMade, KindMade}, s.kinds())
}

func TestAgree(t *testing.T) {
	s := four(t)
	for p, flags := range []uint64{7, 6, 3, 15} {
		require.Empty(t, s.sent)
		s.join(Proc(p), Join{Op: OpAgree, Flags: flags})
	}
	require.Equal(t, []Kind{KindMade, KindMade}, s.kinds(), "one message for each node")
	require.Equal(t, Made{Comm: 1, Op: OpAgree, Flags: 2}, s.made(3))

	s.kill(2)
	s.join(0, Join{Op: OpAgree, Seq: 1, Flags: 1, Acknowledged: []Proc{2}})
	s.join(1, Join{Op: OpAgree, Seq: 1, Flags: 1})
	s.join(3, Join{Op: OpAgree, Seq: 1, Flags: 1, Acknowledged: []Proc{2}})
	require.Equal(t, Made{Comm: 1, Op: OpAgree, Seq: 1, Flags: 1, Failed: []Proc{2}}, s.made(0))
	for _, p := range []Proc{0, 1, 3} {
		s.join(p, Join{Op: OpAgree, Seq: 2, Acknowledged: []Proc{2}})
	}
	require.Empty(t, s.made(1).Failed)
}

func TestShrinkWithADeathMeanwhile(t *testing.T) {
	s := four(t)
	s.kill(0)
	s.join(3, Join{Op: OpShrink})
	s.join(1, Join{Op: OpShrink})
	s.kill(1)
	require.Empty(t, s.made(3))
	s.join(2, Join{Op: OpShrink})
	require.Equal(t, []Proc{2, 3}, s.made(2).New.Procs)
	// The new one works, and both go on alone.
	s.kill(2)
	s.join(3, Join{Op: OpShrink, Comm: s.made(3).New.ID})
	require.Equal(t, []Proc{3}, s.made(3).New.Procs)
	s.bye(3)
	s.exit(3, 0)
	require.Equal(t, End{}, *s.end, "a shrink deals with the failures")
}

func TestSplit(t *testing.T) {
	s := four(t)
	for p, color := range []int{1, 5, -1, 1} {
		s.join(Proc(p), Join{Op: OpSplit, Color: color, Key: -p})
	}
	require.Equal(t, []Proc{3, 0}, s.made(0).New.Procs)
	require.Equal(t, []Proc{1}, s.made(1).New.Procs)
	require.Nil(t, s.made(2).New)
	require.Equal(t, OpSplit, s.made(2).Op)
	require.NotEqual(t, s.made(0).New.ID, s.made(1).New.ID)

	s.kill(3)
	for p := range Proc(3) {
		s.join(p, Join{Op: OpSplit, Seq: 1})
	}
	require.Equal(t, []Proc{3}, s.made(2).Failed)
	require.Nil(t, s.made(2).New)
}

func TestDifferentOperations(t *testing.T) {
	s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
	s.join(0, Join{Op: OpAgree})
	s.join(1, Join{Op: OpShrink})
	require.Equal(t, "ranks call different operations: rank 0 agree, rank 1 shrink", s.made(0).Err)
	require.Equal(t, OpAgree, s.made(0).Op)
	require.Equal(t, s.made(0).Err, s.made(1).Err)
}

func TestRevoked(t *testing.T) {
	s := four(t)
	for p := range Proc(4) {
		s.join(p, Join{Op: OpSplit})
	}
	inner := s.made(0).New.ID
	s.sent = nil
	s.join(0, Join{Op: OpSplit, Comm: inner})
	s.join(1, Join{Op: OpAgree, Comm: inner})
	s.of(3, Message{Kind: KindRevoke, Revoke: &Revoke{Comm: 1}})
	require.Equal(t, []Kind{KindRevoke, KindRevoke}, s.kinds())
	s.of(2, Message{Kind: KindRevoke, Revoke: &Revoke{Comm: 1}})
	require.Len(t, s.sent, 2, "once")
	s.of(3, Message{Kind: KindRevoke, Revoke: &Revoke{Comm: 1, Derived: true}})
	require.Len(t, s.sent, 5)
	require.True(t, s.made(0).Revoked)
	s.join(2, Join{Op: OpSplit, Comm: inner})
	require.True(t, s.made(2).Revoked, "also for who comes later")
	for _, p := range []Proc{0, 2, 3} {
		s.join(p, Join{Op: OpAgree, Comm: inner})
	}
	require.False(t, s.made(1).Revoked, "agreement works")
	require.Equal(t, OpAgree, s.made(1).Op)
}

func TestNobodyWaitsForWhoIsAtTheEnd(t *testing.T) {
	s := four(t)
	for p := range Proc(4) {
		s.join(p, Join{Op: OpSplit})
	}
	inner := s.made(0).New.ID
	s.join(1, Join{Op: OpAgree, Comm: inner})
	s.join(0, Join{Op: OpEnd, Verdict: failing()})
	require.True(t, s.made(1).Revoked)
	s.join(2, Join{Op: OpAgree, Comm: inner})
	require.True(t, s.made(2).Revoked)
	s.kill(0)
	s.join(3, Join{Op: OpAgree, Comm: inner})
	require.True(t, s.made(3).Revoked, "the same for all, whatever happens")
}

// TestWhoHasReturnedIsNamed: nothing has failed, the program is wrong.
func TestWhoHasReturnedIsNamed(t *testing.T) {
	s := four(t)
	s.join(0, Join{Op: OpSplit})
	s.join(1, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	require.Equal(t, Made{Comm: 1, Seq: OfLiving.Seq(0), Op: OpSplit, Revoked: true, Returned: []Proc{1}}, s.made(0))
	s.of(0, Message{Kind: KindRevoke, Revoke: &Revoke{Comm: 1, Derived: true}}) // because of that
	s.join(2, Join{Op: OpSplit})
	require.Equal(t, []Proc{1}, s.made(2).Returned, "the same for all")
	s.join(2, Join{Op: OpAgree})
	require.Empty(t, s.made(2).Returned, "it was revoked")
	require.True(t, s.made(2).Revoked)

	for name, before := range map[string]func(s *script){
		"a failure that it knows of": func(s *script) { s.join(1, Join{Op: OpEnd, Verdict: failing()}) },
		"an error of its own":        func(s *script) { s.join(1, Join{Op: OpEnd, Verdict: &driver.Verdict{Err: "no"}}) },
		"a failure": func(s *script) {
			s.kill(3)
			s.join(1, Join{Op: OpEnd, Verdict: &driver.Verdict{Through: true}})
		},
		"a repair": func(s *script) { s.join(1, Join{Op: OpRepair}) },
	} {
		for _, op := range []Op{OpSplit, OpShrink} {
			s := four(t)
			before(s)
			s.join(0, Join{Op: op})
			require.True(t, s.made(0).Revoked, name)
			require.Empty(t, s.made(0).Returned, name)
		}
	}
}

func TestAwayEndsWithTheZone(t *testing.T) {
	s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
	for p := range Proc(2) {
		s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	}
	s.join(0, Join{Op: OpAgree})
	require.Equal(t, OpEnd, s.made(0).Op, "it waits")
	s.join(1, Join{Op: OpAgree})
	require.Equal(t, Made{Comm: 1, Op: OpAgree, Zone: 1}, s.made(0))
}

func TestOutcomes(t *testing.T) {
	own := func(text string) *driver.Verdict { return &driver.Verdict{Err: text} }
	well, through := &driver.Verdict{}, &driver.Verdict{Through: true}
	for _, c := range []struct {
		name     string
		dead     []Proc
		verdicts []*driver.Verdict
		want     driver.Outcome
	}{
		{"all well", nil, []*driver.Verdict{well, well, well, well}, driver.Outcome{}},
		{"own error", nil, []*driver.Verdict{well, failing(), own("b"), own("c")}, driver.Outcome{Err: "b", ErrRank: 2}},
		{"revoked by hand", nil, []*driver.Verdict{well, failing(), well, well}, driver.Outcome{Repair: true}},
		{"run through", []Proc{0}, []*driver.Verdict{nil, through, through, through}, driver.Outcome{}},
		{"run through by some", []Proc{0}, []*driver.Verdict{nil, through, well, through}, driver.Outcome{Repair: true}},
		{"asked for by one", []Proc{0}, []*driver.Verdict{nil, through, failing(), through}, driver.Outcome{Repair: true}},
		{"failure", []Proc{0}, []*driver.Verdict{nil, well, own("b"), well}, driver.Outcome{Repair: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := four(t)
			for p, v := range c.verdicts {
				if v == nil {
					s.kill(Proc(p))
				} else {
					s.join(Proc(p), Join{Op: OpEnd, Verdict: v, Step: NoStep})
				}
			}
			require.Equal(t, c.want, *s.made(3).Outcome)
		})
	}
}

func TestSpawn(t *testing.T) {
	s := four(t)
	s.kill(1)
	for _, p := range []Proc{0, 2, 3} {
		s.join(p, Join{Op: OpShrink})
	}
	small := s.made(0).New.ID
	for _, c := range []struct {
		missing [2][]Original
		says    string
	}{
		{[2][]Original{{1}, {1, 2}}, "rank 1 for [1 2]"},
		{[2][]Original{{2}, {2}}, "original rank 2 is still alive"},
		{[2][]Original{{4}, {4}}, "allowed are 0 to 3"},
		{[2][]Original{{1, 1}, {1, 1}}, "twice"},
	} {
		seq := s.made(0).Seq & 15
		if s.made(0).Op == OpSpawn {
			seq++
		}
		s.join(0, Join{Comm: small, Seq: seq, Op: OpSpawn, Missing: c.missing[0]})
		s.join(2, Join{Comm: small, Seq: seq, Op: OpSpawn, Missing: c.missing[1]})
		s.join(3, Join{Comm: small, Seq: seq, Op: OpSpawn, Missing: c.missing[0]})
		require.Contains(t, s.made(0).Err, c.says)
	}
	for _, p := range []Proc{0, 2, 3} {
		s.join(p, Join{Comm: small, Seq: 4, Op: OpSpawn, Missing: []Original{1}})
	}
	require.Equal(t, Start{Proc: 4, Original: 1}, s.starts[4])
	s.hello(4)
	require.Equal(t, []Proc{0, 4, 2, 3}, s.made(0).New.Procs)
	require.Equal(t, Made{New: s.made(0).New, Replacement: true}, s.made(4))

	// A member dies meanwhile: it fails, and the new process is of no use.
	s.kill(4)
	s.join(0, Join{Comm: small, Seq: 5, Op: OpSpawn, Missing: []Original{1}})
	s.join(2, Join{Comm: small, Seq: 5, Op: OpSpawn, Missing: []Original{1}})
	s.join(3, Join{Comm: small, Seq: 5, Op: OpSpawn, Missing: []Original{1}})
	s.kill(3)
	require.Equal(t, []Proc{3}, s.made(0).Failed)
	require.NotEmpty(t, s.killed(5))
	s.sent = nil
	s.hello(5)
	s.kill(5)
	require.Empty(t, s.sent, "nobody has to know")
	require.False(t, slices.Contains(s.kinds(), KindFailed))
}

func TestSpawnedProcessDiesWhileItStarts(t *testing.T) {
	s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
	s.kill(1)
	s.join(0, Join{Op: OpShrink})
	s.join(0, Join{Comm: 2, Op: OpSpawn, Missing: []Original{1}})
	s.kill(2)
	s.hello(3)
	require.Equal(t, []Proc{0, 3}, s.made(0).New.Procs)
}

// What the body of a zone may call is limited: the zone repairs too.
func TestOperationsInTheBodyOfAZone(t *testing.T) {
	s := four(t)
	for p := range Proc(4) {
		s.join(p, Join{Op: OpShrink, InZone: true})
	}
	require.NotNil(t, s.made(0).New)
	require.Empty(t, s.notes, "without a failure it is as good as any other")
	s.kill(3)
	s.notes = nil
	for p := range Proc(3) {
		s.join(p, Join{Op: OpShrink, Seq: 1, InZone: true})
	}
	require.Len(t, s.notes, 1)
	require.Contains(t, s.notes[0], "Zone.Repair")
	id := s.made(0).New.ID
	for p := range Proc(3) {
		s.join(p, Join{Comm: id, Op: OpSpawn, Missing: []Original{3}, InZone: true})
	}
	require.Contains(t, s.made(2).Err, "Zone.Repair")
	require.Len(t, s.starts, 4)
}

// Those whose bodies still run are told of those whose bodies have returned, if that
// takes long.
func TestReturnedBodiesAreTold(t *testing.T) {
	s := four(t)
	s.join(1, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	s.join(2, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	s.sent = nil
	s.tick(50 * time.Millisecond)
	require.Empty(t, s.sent)
	require.Equal(t, s.now.Add(50*time.Millisecond), s.r.Next())
	s.tick(50 * time.Millisecond)
	require.Len(t, s.sent, 2)
	for i, p := range []Proc{0, 3} {
		require.Equal(t, Message{Kind: KindFailed, To: []Proc{p}, Away: []Proc{1, 2}}, s.sent[i].Message)
	}
	s.pulses()
	s.sent = nil
	s.join(0, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	s.tick(100 * time.Millisecond)
	require.Len(t, s.sent, 1)
	require.Equal(t, Message{Kind: KindFailed, To: []Proc{3}, Away: []Proc{0, 1, 2}}, s.sent[0].Message)
	s.join(3, Join{Op: OpEnd, Verdict: &driver.Verdict{}})
	require.Equal(t, driver.Outcome{}, *s.made(0).Outcome)
}

// Communicators that a repair has replaced are forgotten, however many repairs there
// are, and who still calls something there gets an answer.
func TestReplacedCommunicatorsAreForgotten(t *testing.T) {
	s := four(t)
	for p := range Proc(4) {
		s.join(p, Join{Comm: 1, Op: OpSplit})
	}
	made := s.made(0).New.ID
	s.kill(1)
	s.repairAll(0, 1, policy(driver.Shrinking, driver.Reuse), 0, 2, 3)
	require.Len(t, s.r.rendezvous.groups.all, 1)
	for _, old := range []CommID{1, made} {
		s.sent = nil
		s.join(2, Join{Comm: old, Seq: 1, Op: OpSplit})
		require.Len(t, s.sent, 1)
		require.Equal(t, Made{Comm: old, Seq: OfLiving.Seq(1), Op: OpSplit, Epoch: 1, Revoked: true}, s.made(2))
	}
}

// TestChainOfCommunicators: each is made of the last one, which is freed then.
func TestChainOfCommunicators(t *testing.T) {
	s := running(t, RootConfig{Size: 1, Nodes: nodesOf(1, 0)})
	last := CommID(1)
	for range 10 {
		s.join(0, Join{Comm: last, Op: OpSplit})
		if last != 1 {
			s.of(0, Message{Kind: KindFree, Free: &Free{Proc: 0, Comm: last}})
		}
		last = s.made(0).New.ID
	}
	depth := 0
	for g := s.r.rendezvous.groups.all[last]; g != nil; g = g.parent {
		depth++
	}
	require.LessOrEqual(t, depth, 3)
	require.True(t, s.r.rendezvous.groups.all[last].isMadeOf(s.r.rendezvous.groups.all[1]))
}
