package control

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// withSpares is a job of four ranks on two nodes, with spare ranks 4 to 3+n, which have joined.
func withSpares(t *testing.T, n int, nodes []NodeConfig) *script {
	s := running(t, RootConfig{Size: 4, Nodes: nodes, SpareRanks: n, Repeats: 3})
	require.Len(t, s.starts, 4+n)
	for p := range n {
		require.Contains(t, s.starts[4:], Start{Proc: Proc(4 + p), Original: Asleep})
		s.hello(Proc(4 + p))
	}
	require.Empty(t, s.sent, "nobody hears of them")
	return s
}

// TestSpareRank takes the place of a process that has failed, with every policy that replaces, and is renewed
// when the repair is complete.
func TestSpareRank(t *testing.T) {
	for _, recovery := range []driver.Recovery{driver.NonShrinking, driver.GlobalRestart} {
		p := policy(recovery, driver.Reuse)
		s := withSpares(t, 2, nodesOf(2, 0))
		require.Equal(t, []Node{0, 1}, s.placed()[4:])
		s.begin(p, 0, 1, 2, 3)
		s.kill(3)
		require.Len(t, s.starts, 6)
		s.repairAll(0, 1, p, 0, 1, 2)
		require.Equal(t, []Proc{0, 1, 2, 5}, s.made(0).New.Procs, "the one on the same node")
		require.Equal(t, []int{3}, s.made(0).Change.Replaced)
		require.True(t, s.made(5).Replacement)
		require.Equal(t, []Start{{Proc: 6, Original: Asleep}}, s.starts[6:], "and no other process")
		require.Equal(t, Node(1), s.where[6])
		var known []Original
		for _, m := range s.messages(KindPeers) {
			for _, peer := range m.Peers {
				if peer.Proc == 5 {
					known = append(known, peer.Original)
				}
			}
		}
		require.Equal(t, []Original{3, 3, 3}, known, "both nodes, and itself")
	}
}

// TestSpareRankElsewhere: on another node, if there is a slot.
func TestSpareRankElsewhere(t *testing.T) {
	s := withSpares(t, 1, nodesOf(2, 0))
	p := policy(driver.NonShrinking, driver.Reuse)
	s.kill(3)
	s.repairAll(0, 1, p, 0, 1, 2)
	require.Equal(t, []Proc{0, 1, 2, 4}, s.made(0).New.Procs)
	require.Equal(t, Start{Proc: 5, Original: Asleep}, s.starts[5])
	require.Equal(t, Node(1), s.where[5], "where fewer ranks are: else all would come to one node, one after the other")

	s = running(t, RootConfig{Size: 5, Nodes: nodesOf(3, 0), SpareRanks: 2})
	s.hello(5)
	s.hello(6)
	require.Equal(t, []Node{2, 0}, s.placed()[5:])
	s.kill(0)
	s.repairAll(0, 1, p, 1, 2, 3, 4)
	require.Equal(t, []Proc{6, 1, 2, 3, 4}, s.made(1).New.Procs, "not where as few ranks are")

	full := nodesOf(2, 0)
	full[0].Slots, full[1].Slots = 2, 2
	s = withSpares(t, 1, full)
	s.kill(3)
	s.repairAll(0, 1, p, 0, 1, 2)
	require.Equal(t, Start{Proc: 5, Original: 3, Epoch: 1}, s.starts[5])
	require.Equal(t, Node(1), s.where[5])
}

// TestSpareRanksOnSpareNodes: with NO-REUSE that is where they are.
func TestSpareRanksOnSpareNodes(t *testing.T) {
	s := withSpares(t, 3, nodesOf(4, 2))
	require.ElementsMatch(t, []Node{2, 3, 2}, s.placed()[4:])
	p := policy(driver.NonShrinking, driver.NoReuse)
	s.do(s.r.Lost(s.now, 1, "off", true))
	s.repairAll(0, 1, p, 0, 1)
	require.Equal(t, []Proc{0, 1, 4, 5}, s.made(0).New.Procs)
	require.Len(t, s.starts, 9)
}

// TestSpareRankThatStarts is further than a process that is to be started.
func TestSpareRankThatStarts(t *testing.T) {
	s := running(t, RootConfig{Size: 4, Nodes: nodesOf(2, 0), SpareRanks: 1})
	s.kill(1)
	p := policy(driver.NonShrinking, driver.Reuse)
	s.repairAll(0, 1, p, 0, 2, 3)
	require.Len(t, s.starts, 5)
	s.hello(4)
	require.Equal(t, []Proc{0, 4, 2, 3}, s.made(0).New.Procs)
}

// TestSpareRankDies: it is renewed, its death is no failure of the job, and it does not hold up the end.
func TestSpareRankDies(t *testing.T) {
	s := withSpares(t, 1, nodesOf(2, 0))
	s.kill(4)
	require.Len(t, s.starts, 6)
	require.Empty(t, s.messages(KindFailed))
	s.hello(5)
	s.kill(5)
	s.hello(6)
	s.kill(6)
	require.Len(t, s.starts, 7)
	require.Contains(t, s.notes, "no more spare ranks are started: they end again and again")
	for p := range Proc(4) {
		s.of(p, Message{Kind: KindBye, Bye: &Bye{Proc: p}})
		s.exit(p, 0)
	}
	require.Equal(t, End{}, *s.end)

	s = withSpares(t, 1, nodesOf(2, 0))
	s.do(s.r.Lost(s.now, 0, "off", true))
	require.Equal(t, Start{Proc: 5, Original: Asleep}, s.starts[5])
	require.Equal(t, Node(1), s.where[5])
	for p := Proc(2); p < 4; p++ {
		s.kill(p)
	}
	require.Nil(t, s.end, "all are lost, and started again")
	require.Equal(t, Original(0), s.r.members.proc(5).original)
}

// TestProgramWithoutZone: a spare rank of one does what the program does, once.
func TestProgramWithoutZone(t *testing.T) {
	s := launched(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0), SpareRanks: 1})
	require.Len(t, s.starts, 3)
	s.exit(2, 3)
	require.Len(t, s.starts, 3)
	require.Contains(t, s.notes, "no more spare ranks are started: the program ends before it has come to aft.Run")
	s.exit(0, 0)
	s.exit(1, 0)
	require.Equal(t, End{}, *s.end)
}

// TestSpareRankOfADaemon gives no signs of life, gets no signals, and is killed when it is stopped, until it has
// taken a place.
func TestSpareRankOfADaemon(t *testing.T) {
	now := time.Unix(1000, 0)
	d := NewDaemon(Setup{Timing: testTiming})
	do := func(list []DaemonAction) (kills []int, starts int) {
		for _, a := range list {
			if a.Kill != nil {
				kills = append(kills, a.Kill.Signal)
			}
			if a.Start != nil {
				starts++
			}
		}
		return kills, starts
	}
	alive := func(until time.Duration) (kills []int) {
		for end := now.Add(until); now.Before(end); now = now.Add(testTiming.Period) {
			d.lease = now.Add(time.Hour)
			k, _ := do(d.Tick(now))
			kills = append(kills, k...)
		}
		return kills
	}
	_, starts := do(d.FromRoot(now, Message{Kind: KindStart, Start: []Start{{Proc: 4, Original: Asleep}}}))
	require.Equal(t, 1, starts)
	d.FromRank(now, 4, Message{Kind: KindHello, Hello: &Hello{Version: Version}})
	require.Empty(t, alive(time.Minute))
	kills, _ := do(d.FromRoot(now, Message{Kind: KindSignal, Signal: &Signal{Number: 15}}))
	require.Empty(t, kills)
	d.Stopped(now, 4, true)
	require.Equal(t, []int{9}, alive(2*testTiming.Lease))

	do(d.FromRoot(now, Message{Kind: KindStart, Start: []Start{{Proc: 5, Original: Asleep}}}))
	d.FromRank(now, 5, Message{Kind: KindHello, Hello: &Hello{Version: Version}})
	do(d.FromRoot(now, Message{Kind: KindMade, To: []Proc{5}, Made: &Made{New: &Group{ID: 2, Procs: []Proc{5}}, Replacement: true, Stops: []int{15}}}))
	require.Empty(t, alive(missedDelay/2))
	do(d.FromRank(now, 5, Message{Kind: KindPulse, Pulse: &Pulse{Seq: 1, Step: NoStep}}))
	require.Equal(t, []int{15}, alive(missedDelay/2+testTiming.Period), "what has asked for the end, and nothing of before")
	require.Equal(t, []int{9}, alive(2*testTiming.Lease), "it is silent")
}
