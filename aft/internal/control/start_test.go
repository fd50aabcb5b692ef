package control

import (
	"fmt"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// startTiming has some patience with the start.
var startTiming = Timing{Period: testTiming.Period, Lease: testTiming.Lease, Margin: testTiming.Margin, Start: 3 * time.Second}

// TestPatienceAtTheStart: a node may be silent for longer than the lease until the
// first world is made, and no longer.
func TestPatienceAtTheStart(t *testing.T) {
	s := launched(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0), Timing: startTiming})
	s.tick(2900 * time.Millisecond)
	require.Empty(t, s.fenced)
	s.sent = nil
	s.handle(1, Message{Kind: KindPulse, Pulse: &Pulse{Seq: 1, Left: 100 * time.Millisecond}})
	require.Equal(t, 3*time.Second, s.sent[0].Message.Pulse.Left)
	s.tick(301 * time.Millisecond)
	require.Equal(t, []Node{0}, s.fenced)

	// A world makes the lease short, once the node says that it knows.
	s = running(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0), Timing: startTiming})
	began := s.now
	s.sent = nil
	s.handle(1, Message{Kind: KindPulse, Pulse: &Pulse{Seq: 1, Left: 2900 * time.Millisecond}})
	require.Equal(t, time.Second, s.sent[0].Message.Pulse.Left)
	require.Equal(t, began.Add(3100*time.Millisecond), s.r.members.node(1).due)
	s.handle(1, Message{Kind: KindPulse, Pulse: &Pulse{Seq: 2, Left: 950 * time.Millisecond}})
	require.Equal(t, began.Add(1200*time.Millisecond), s.r.members.node(1).due)

	// Programs that never join have it for as long as daemons have to report.
	s = launched(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0), Timing: startTiming})
	s.tick(3 * time.Second)
	s.sent = nil
	s.handle(1, Message{Kind: KindPulse, Pulse: &Pulse{Seq: 1}})
	require.Equal(t, time.Second, s.sent[0].Message.Pulse.Left)
}

// TestLongAnswersOnTheirWay: the first world is made while a node has long answers to
// come, and then it is cut off. It is not declared dead before the longest one has ended.
func TestLongAnswersOnTheirWay(t *testing.T) {
	s := launched(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0), Timing: startTiming})
	d := NewDaemon(Setup{Timing: startTiming})
	s.sent = nil
	pulse := func() {
		for _, a := range d.Tick(s.now) {
			s.handle(1, *a.ToRoot)
		}
		s.now = s.now.Add(startTiming.Period)
	}
	for range 6 {
		pulse()
	}
	late := s.sent
	for p := range Proc(2) {
		s.hello(p)
	}
	require.NotNil(t, s.r.rendezvous.groups.world)
	pulse()
	for _, answer := range late {
		d.FromRoot(s.now, answer.Message)
	}
	require.True(t, d.lease.Before(s.r.members.node(1).due), "%v, %v", d.lease, s.r.members.node(1).due)
}

// TestLateAtTheStart: a rank that is not at its first zone long after the others is
// named, once, and only if there is a zone.
func TestLateAtTheStart(t *testing.T) {
	pass := func(s *script, d time.Duration) {
		for end := s.now.Add(d); s.now.Before(end); s.tick(600 * time.Millisecond) {
			s.pulses()
		}
	}
	s := launched(t, RootConfig{Size: 3, Nodes: nodesOf(1, 0)})
	pass(s, time.Minute)
	require.Empty(t, s.notes, "a program without zones")
	s.hello(0)
	s.hello(2)
	require.Equal(t, s.now.Add(joinPatience), s.r.deploy.joinLimit())
	pass(s, joinPatience-time.Second)
	require.Empty(t, s.notes)
	pass(s, time.Minute)
	require.Equal(t, []string{"the job begins when all ranks have come to aft.Run: waiting for some that have not"}, s.notes)
	s.hello(1)
	require.NotNil(t, s.r.rendezvous.groups.world)

	s = running(t, RootConfig{Size: 3, Nodes: nodesOf(1, 0)})
	pass(s, time.Minute)
	require.Empty(t, s.notes)
}

func TestRefusedJobs(t *testing.T) {
	slots := func(counts ...int) []NodeConfig {
		var out []NodeConfig
		for i, c := range counts {
			out = append(out, NodeConfig{Name: fmt.Sprint("n", i), Slots: c})
		}
		return out
	}
	for _, c := range []struct {
		name string
		cfg  RootConfig
		says string
	}{
		{"no ranks", RootConfig{Size: 0, Nodes: slots(0)}, "-n 0"},
		{"too many", RootConfig{Size: MaxProcs + 1, Nodes: slots(0)}, "at most"},
		{"slots", RootConfig{Size: 9, Nodes: slots(4, 4)}, "-n 9"},
		{"no nodes", RootConfig{Size: 1}, "--nodes"},
		{"all spare", RootConfig{Size: 1, Nodes: []NodeConfig{{Spare: true}}}, "--spare-nodes"},
		{"negative slots", RootConfig{Size: 1, Nodes: slots(-1)}, "-1 slots"},
		{"repeats", RootConfig{Size: 1, Nodes: slots(0), Repeats: -1}, "--max-repeats"},
		{"so many repeats that counting them overflows", RootConfig{Size: 1, Nodes: slots(0), Repeats: math.MaxInt}, "at most 1000000"},
		{"recovery", RootConfig{Size: 1, Nodes: slots(0), Policy: driver.Policy{Recovery: "x"}}, "NON-SHRINKING"},
		{"spawn", RootConfig{Size: 1, Nodes: slots(0), Policy: driver.Policy{Spawn: "x"}}, "NO-REUSE"},
		{"period", RootConfig{Size: 1, Nodes: slots(0), Timing: Timing{Lease: 1}}, "--heartbeat"},
		{"lease", RootConfig{Size: 1, Nodes: slots(0), Timing: Timing{Period: 2, Lease: 3}}, "--lease"},
		{"margin", RootConfig{Size: 1, Nodes: slots(0), Timing: Timing{Period: 1, Lease: 3, Margin: -1}}, "margin"},
		{"repair", RootConfig{Size: 1, Nodes: slots(0), Timing: Timing{Period: 1, Lease: 3, Repair: -1}}, "--repair-timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.cfg.Timing == (Timing{}) {
				c.cfg.Timing = testTiming
			}
			_, err := NewRoot(c.cfg)
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestFirstRanksAreInBlocks(t *testing.T) {
	for _, c := range []struct {
		size  int
		slots []int // -1: spare
		want  []Node
	}{
		{8, []int{0, 0, 0, 0}, []Node{0, 0, 1, 1, 2, 2, 3, 3}},
		{8, []int{0, 0, 0}, []Node{0, 0, 0, 1, 1, 1, 2, 2}},
		{5, []int{1, 0, -1}, []Node{0, 1, 1, 1, 1}},
		{6, []int{2, 3, 1}, []Node{0, 0, 1, 1, 1, 2}},
		{1, []int{0, 0}, []Node{0}},
		{4, []int{math.MaxInt, math.MaxInt, 2}, []Node{0, 0, 1, 2}},
	} {
		var nodes []NodeConfig
		for i, n := range c.slots {
			nodes = append(nodes, NodeConfig{Name: fmt.Sprint(i), Slots: max(n, 0), Spare: n < 0})
		}
		s := launched(t, RootConfig{Size: c.size, Nodes: nodes})
		require.Equal(t, c.want, s.placed(), "%d on %v", c.size, c.slots)
	}
}

func TestSetupComesFirstAndIsFilledIn(t *testing.T) {
	nodes := nodesOf(3, 1)
	nodes[1].Host = "h0"
	s := newScript(t, RootConfig{Size: 2, Nodes: nodes, Setup: Setup{Job: "j", Program: "p"}})
	require.Equal(t, []Kind{KindSetup, KindSetup, KindSetup}, s.kinds())
	require.Equal(t, Setup{Version: Version, Job: "j", Program: "p", Node: 2, Size: 2, Hosts: 2, Address: "h2", Timing: testTiming, Remote: true},
		*s.sent[2].Message.Setup)
}

func TestFirstWorld(t *testing.T) {
	s := launched(t, RootConfig{Size: 3, Nodes: nodesOf(2, 0)})
	s.sent = nil
	s.hello(2)
	s.hello(0)
	require.Empty(t, s.sent)
	s.hello(1)
	require.Equal(t, []Kind{KindPeers, KindPeers, KindMade, KindMade}, s.kinds())
	require.Len(t, s.sent[0].Message.Peers, 3)
	require.Equal(t, Peer{Proc: 2, Original: 2, Node: 1, Host: "h1", Address: "@2"}, s.sent[0].Message.Peers[2])
	for p := range Proc(3) {
		require.Equal(t, Made{New: &Group{ID: 1, Procs: []Proc{0, 1, 2}}}, s.made(p))
	}
}

func TestFailedStarts(t *testing.T) {
	ready := func(version int, program string) Message {
		return Message{Kind: KindReady, Ready: &Ready{Version: version, Program: program, Path: "/bin/" + program, Host: "host"}}
	}
	t.Run("version", func(t *testing.T) {
		s := newScript(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0)})
		s.handle(1, ready(Version+1, "p"))
		require.Equal(t, 1, s.end.Code)
		require.Contains(t, s.end.Report, fmt.Sprint("node n1 (host) has version ", Version+1))
		require.Contains(t, s.kinds(), KindStop)
	})
	t.Run("programs", func(t *testing.T) {
		s := newScript(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0)})
		s.handle(1, ready(Version, "a"))
		s.handle(0, ready(Version, "b"))
		require.Equal(t, 1, s.end.Code)
		for _, text := range []string{"/bin/a is a on node n1", "/bin/b is b on node n0"} {
			require.Contains(t, s.end.Report, text)
		}
	})
	t.Run("unreachable", func(t *testing.T) {
		s := newScript(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0)})
		s.do(s.r.Lost(s.now, 1, "no route to host", false))
		require.Equal(t, End{Code: 1, Report: "node n1 could not be started: no route to host", GaveUp: true}, *s.end)
	})
	t.Run("lost while others start", func(t *testing.T) {
		s := newScript(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0)})
		s.handle(1, ready(Version, "a"))
		s.do(s.r.Lost(s.now, 1, "died", true))
		require.Equal(t, 1, s.end.Code)
	})
	t.Run("spare unreachable", func(t *testing.T) {
		s := newScript(t, RootConfig{Size: 2, Nodes: nodesOf(2, 1)})
		s.handle(0, ready(Version, "a"))
		require.Empty(t, s.starts)
		s.do(s.r.Lost(s.now, 1, "no route to host", false))
		require.Nil(t, s.end)
		require.Equal(t, []Node{0, 0}, s.placed())
		require.Contains(t, s.notes, "a spare node could not be started")
	})
	t.Run("silent", func(t *testing.T) {
		s := newScript(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0), Timing: startTiming})
		s.handle(0, ready(Version, "a"))
		require.Equal(t, s.now.Add(3*time.Second), s.r.Next())
		s.handle(1, ready(Version, "a"))
		s = newScript(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0), Timing: startTiming})
		require.Equal(t, s.now.Add(3*time.Second), s.r.Next())
		s.tick(3 * time.Second)
		require.Equal(t, End{Code: 1, Report: "node n0 has not reported within 3s", GaveUp: true}, *s.end)
	})
	t.Run("silent spare", func(t *testing.T) {
		s := newScript(t, RootConfig{Size: 2, Nodes: nodesOf(3, 2), Timing: startTiming})
		s.handle(0, ready(Version, "a"))
		s.handle(2, ready(Version, "a"))
		s.tick(startTiming.Start - 1)
		require.Empty(t, s.starts)
		s.tick(1)
		require.Nil(t, s.end)
		require.Equal(t, []Node{1}, s.fenced)
		require.Equal(t, []string{"a spare node could not be started"}, s.notes)
		require.Equal(t, []Node{0, 0}, s.placed())
		s.do(s.r.Lost(s.now, 1, "its agent was killed", false))
		s.handle(1, ready(Version, "b"))
		require.Len(t, s.notes, 1, "that is settled")
		require.Nil(t, s.end)
	})
	t.Run("silent spare and node", func(t *testing.T) {
		s := newScript(t, RootConfig{Size: 2, Nodes: nodesOf(2, 1), Timing: startTiming})
		s.tick(startTiming.Start)
		require.Equal(t, End{Code: 1, Report: "node n0 has not reported within 3s", GaveUp: true}, *s.end)
	})
	t.Run("daemon error", func(t *testing.T) {
		s := newScript(t, RootConfig{Size: 1, Nodes: nodesOf(1, 0)})
		s.handle(0, Message{Kind: KindError, Error: &Error{Text: "no program x"}})
		require.Equal(t, End{Code: 1, Report: "node n0: no program x", GaveUp: true}, *s.end)
	})
	t.Run("cannot be started", func(t *testing.T) {
		s := launched(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
		s.of(1, Message{Kind: KindExit, Exits: []Exit{{Proc: 1, Code: -1, Why: "exec format error"}}})
		require.Equal(t, 1, s.end.Code)
		require.Contains(t, s.end.Report, "rank 1 on node n0")
		require.Contains(t, s.end.Report, "exec format error")
	})
	t.Run("version of the program", func(t *testing.T) {
		s := launched(t, RootConfig{Size: 1, Nodes: nodesOf(1, 0)})
		s.of(0, Message{Kind: KindHello, Hello: &Hello{Proc: 0, Version: Version + 1}})
		require.Contains(t, s.end.Report, fmt.Sprint("version ", Version+1))
	})
}

func TestProgramsThatDoNotJoin(t *testing.T) {
	s := launched(t, RootConfig{Size: 3, Nodes: nodesOf(1, 0)})
	s.exit(1, 0)
	s.exit(0, 3)
	require.Nil(t, s.end)
	s.signalled(2, 6)
	require.Equal(t, 134, s.end.Code)
	require.Contains(t, s.end.Report, "rank 0 (process 0 on node n0): exit status 3")
	require.Contains(t, s.end.Report, "rank 2 (process 2 on node n0): signal 6")
	require.Len(t, s.starts, 3, "nothing is started again")

	s = launched(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
	s.exit(1, 0)
	s.exit(0, 0)
	require.Equal(t, End{}, *s.end)
}

func TestOneEndsBeforeItJoins(t *testing.T) {
	for _, helloFirst := range []bool{false, true} {
		s := launched(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
		if helloFirst {
			s.hello(0)
		}
		s.exit(1, 4)
		if !helloFirst {
			s.hello(0)
		}
		require.Equal(t, 4, s.end.Code)
		require.Contains(t, s.end.Report, "rank 1 on node n0 has ended with exit code 4")
		require.Contains(t, s.kinds(), KindStop)
	}
}

func TestKilledBeforeTheFirstWorld(t *testing.T) {
	s := launched(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0)})
	s.hello(0)
	s.kill(0)
	s.hello(1)
	s.kill(2)
	require.Equal(t, []Start{{Proc: 2}, {Proc: 3}}, s.starts[2:])
	s.hello(3)
	require.Equal(t, []Proc{3, 1}, s.made(1).New.Procs)
	require.False(t, s.made(3).Replacement)
	require.False(t, slices.Contains(s.kinds(), KindFailed), "nobody knew them")

	s = launched(t, RootConfig{Size: 1, Nodes: nodesOf(1, 0)})
	s.kill(0)
	s.kill(1)
	require.Nil(t, s.end)
	s.kill(2)
	require.Equal(t, 1, s.end.Code)
	require.Contains(t, s.end.Report, "failed 3 times in the same way")
}

// A signal that asks for the end and comes before there are ranks is not lost.
func TestSignalBeforeTheRanks(t *testing.T) {
	s := newScript(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0)})
	s.do(s.r.Signal(s.now, int(syscall.SIGUSR1)))
	require.Nil(t, s.end, "nobody is there to hear it")
	s.now = s.now.Add(2 * earlyPatience)
	s.do(s.r.Tick(s.now))
	require.Empty(t, s.forwarded(), "it would end a program that is about to take it, or nobody would hear it")
	s.do(s.r.Signal(s.now, int(syscall.SIGTERM)))
	require.Equal(t, End{Code: requeueCode, GaveUp: true, Report: "terminated before the ranks were started: the job is to go on later"}, *s.end)

	s = newScript(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0)})
	s.do(s.r.Signal(s.now, int(syscall.SIGINT)))
	require.Equal(t, 130, s.end.Code)
}

// Who signals all processes of a job hits daemons that do not listen yet: the job has not failed, whoever tells of it first.
func TestADaemonIsKilledAtItsStart(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{syscall.SIGTERM: requeueCode, syscall.SIGINT: 130, syscall.SIGKILL: 1} {
		s := newScript(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0)})
		s.do(s.r.Unborn(s.now, int(signal), 1))
		s.do(s.r.Lost(s.now, 1, "signal", true))
		require.Equal(t, code, s.end.Code, s.end.Report)
	}
	s := launched(t, RootConfig{Size: 2, Nodes: nodesOf(2, 0)})
	s.do(s.r.Unborn(s.now, sigterm, 1))
	require.Nil(t, s.end, "it is one of another time")
}
