package control

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// deployments is a job that is deployed again and again.
type deployments struct {
	t    *testing.T
	cfg  RootConfig
	most int
	now  *script
}

func deployed(t *testing.T, most int, nodes []NodeConfig) *deployments {
	return &deployments{t: t, most: most, cfg: RootConfig{Size: 4, Nodes: nodes, Policy: driver.Policy{Recovery: driver.Abort}}}
}

// start has the next deployment begin, on the nodes that are there but some.
func (d *deployments) start(but ...Node) *script {
	d.now = newScript(d.t, d.cfg)
	for i := range d.cfg.Nodes {
		id := Node(i)
		switch {
		case d.cfg.Past.Gone(id):
		case len(but) > 0 && but[0] == id:
			d.now.do(d.now.r.Lost(d.now.now, id, "no answer", false))
			but = but[1:]
		default:
			d.now.handle(id, Message{Kind: KindReady, Ready: &Ready{Version: Version, Program: "p"}})
		}
	}
	return d.now
}

// run is start, and all join.
func (d *deployments) run(but ...Node) *script {
	s := d.start(but...)
	for p := range Proc(4) {
		s.hello(p)
	}
	require.NotNil(d.t, s.made(0).New, "%v", s.end)
	return s
}

// next takes over what the present deployment leaves, and returns the report if nothing follows.
func (d *deployments) next() (report string) {
	require.NotNil(d.t, d.now.end)
	d.cfg.Past, report = d.now.r.Sequel(d.most)
	return report
}

// TestDeployedAgain: the first communicator of the next deployment is that of the next epoch, so that
// programs, checkpoints and locks take it for the same job, in which all ranks were replaced.
func TestDeployedAgain(t *testing.T) {
	d := deployed(t, 2, nodesOf(2, 0))
	require.Equal(t, 0, d.run().made(0).Epoch)
	require.False(t, d.now.made(0).Replacement)
	for i := range 2 {
		d.now.diedAt(2, int64(100+i))
		require.Empty(t, d.next())
		require.NotNil(t, d.cfg.Past)
		require.Equal(t, i+1, d.cfg.Past.Restart)
		require.Equal(t, "deployed again on nodes n0, n1", d.now.r.Where(d.cfg.Past))
		d.run()
		require.Equal(t, i+1, d.now.made(0).Epoch)
		require.True(t, d.now.made(0).Replacement)
		require.Len(t, d.now.starts, 4)
		require.Equal(t, 0, d.now.starts[0].Epoch, "signals reach it before it joins, as at any start")
	}
	d.now.diedAt(1, 102)
	require.Equal(t, `the job has failed in all 3 deployments (--restarts 2):
  1. rank 2 on node n1: signal 9 after step 100
  2. rank 2 on node n1: signal 9 after step 101
  3. rank 1 on node n0: signal 9 after step 102`, d.next())
	require.Nil(t, d.cfg.Past)
}

// TestEpochsOfRepairsCount: a deployment in which there were repairs hands on how many.
func TestEpochsOfRepairsCount(t *testing.T) {
	d := deployed(t, 2, nodesOf(2, 0))
	d.cfg.Policy = *policy(driver.Shrinking, driver.Reuse)
	s := d.run()
	s.kill(3)
	s.repairAll(0, 1, &d.cfg.Policy, 0, 1, 2)
	s.signalled(0, 11)
	s.signalled(1, 11)
	s.signalled(2, 11)
	require.Contains(t, s.end.Report, "no rank is left")
	require.Empty(t, d.next())
	require.Equal(t, 2, d.run().made(0).Epoch)
}

// TestFailuresAtTheSamePlace end the job, though more restarts are allowed; a job that advances may
// use them all. Which rank it is, and why, does not matter.
func TestFailuresAtTheSamePlace(t *testing.T) {
	d := deployed(t, 100, nodesOf(2, 0))
	for i, step := range []int64{10, 20, 20, 30, 25, 29} {
		d.run().diedAt(Proc(i%4), step)
		if i < 5 {
			require.Empty(t, d.next(), "%d", i)
			require.NotNil(t, d.cfg.Past)
		}
	}
	report := d.next()
	require.Contains(t, report, "the job has failed 3 times in a row without getting beyond step 30: it is not deployed again (--max-repeats):\n  1. rank 0 on node n0: signal 9 after step 10\n")
	require.Contains(t, report, "\n  6. rank 1 on node n0: signal 9 after step 29")
	require.Nil(t, d.cfg.Past)

	d = deployed(t, 100, nodesOf(2, 0))
	for i := range 50 {
		d.run().diedAt(2, int64(i))
		require.Empty(t, d.next())
	}
}

// TestProgramsWithoutSteps have three times as many attempts, as in the ledger, but not before their
// first communicator.
func TestProgramsWithoutSteps(t *testing.T) {
	for _, joins := range []bool{true, false} {
		d := deployed(t, 100, nodesOf(2, 0))
		report, times := "", 0
		for ; report == ""; times++ {
			if joins {
				d.run()
			} else {
				d.start()
			}
			d.now.kill(1)
			report = d.next()
		}
		require.Equal(t, map[bool]int{true: 9, false: 3}[joins], times)
		require.Contains(t, report, fmt.Sprintf("the job has failed %d times in a row without reporting a step", times))
	}
}

// TestLossesDoNotCount as failures at the same place: what limits them is how many nodes there are.
func TestLossesDoNotCount(t *testing.T) {
	d := deployed(t, 100, nodesOf(8, 0))
	for n := range Node(7) {
		d.run()
		d.now.do(d.now.r.Lost(d.now.now, n, "off", true))
		require.Empty(t, d.next())
		require.True(t, d.cfg.Past.Gone(n))
	}
	require.Equal(t, "deployed again on node n7, 7 fewer than at the start", d.now.r.Where(d.cfg.Past))
	d.run()
	require.Equal(t, []Node{7, 7, 7, 7}, d.now.placed())
	d.now.do(d.now.r.Lost(d.now.now, 7, "off", true))
	require.Contains(t, d.next(), "no node is left to deploy the job on:\n  1. rank 0 on node n0: node lost: off\n")
}

// TestTheLedgerGoesOn: what a deployment with repairs has counted counts in the next one.
func TestTheLedgerGoesOn(t *testing.T) {
	d := deployed(t, 5, nodesOf(2, 0))
	d.cfg.Policy = *policy(driver.NonShrinking, driver.Reuse)
	die := func(p Proc, epoch int) {
		s := d.now
		s.diedAt(p, 7)
		if s.end == nil {
			s.repairAll(uint64(0), CommID(epoch+1), &d.cfg.Policy, 0, 1, 2)
			s.hello(Proc(4 + epoch))
		}
	}
	d.run()
	die(3, 0)
	die(4, 1)
	die(5, 2)
	require.Contains(t, d.now.end.Report, "rank 3 has failed 3 times in the same way (signal 9) and the job did not get beyond step 7")
	require.Empty(t, d.next())
	d.run()
	die(3, 0)
	require.Contains(t, d.now.end.Report, "rank 3 has failed 4 times in the same way", "at once")
}

// TestNotDeployedAgain: what is no failure, or is asked for.
func TestNotDeployedAgain(t *testing.T) {
	for name, end := range map[string]func(s *script){
		"all is done": func(s *script) {
			for p := range Proc(4) {
				s.bye(p)
				s.exit(p, 0)
			}
		},
		"an error of the program, on all ranks": func(s *script) {
			for p := range Proc(4) {
				s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{Err: "no such file"}})
			}
			for p := range Proc(4) {
				s.exit(p, 1)
			}
		},
		"a kill behind an error of the program": func(s *script) {
			for p := range Proc(4) {
				s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{Err: "no such file"}})
			}
			s.kill(0)
		},
		"another job is asked for": func(s *script) { s.exit(2, requeueCode); s.tick(abortGrace) },
		"wrong usage":              func(s *script) { s.exit(2, usageCode); s.tick(abortGrace) },
		"SIGTERM, and a kill": func(s *script) {
			s.do(s.r.Signal(s.now, sigterm))
			for p := range Proc(4) {
				s.kill(p)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := deployed(t, 5, nodesOf(2, 0))
			s := d.run()
			s.begin(policy(driver.Abort, driver.Reuse), 0, 1, 2, 3)
			end(s)
			require.Empty(t, d.next())
			require.Nil(t, d.cfg.Past)
		})
	}
	d := deployed(t, 0, nodesOf(2, 0))
	d.run().kill(1)
	require.Empty(t, d.next())
	require.Nil(t, d.cfg.Past, "it is not asked for")
}

// TestExitInTheMiddle of a zone is a failure, as it is for a repair.
func TestExitInTheMiddle(t *testing.T) {
	d := deployed(t, 5, nodesOf(2, 0))
	d.run().exit(2, 1)
	require.Nil(t, d.now.end)
	d.now.tick(abortGrace)
	require.Empty(t, d.next())
	require.NotNil(t, d.cfg.Past)
}

// TestNodesOfTheNextDeployment: those that are lost are left out, in their places are spare ones, and
// what does not report goes the same way.
func TestNodesOfTheNextDeployment(t *testing.T) {
	d := deployed(t, 5, nodesOf(4, 2))
	d.run()
	require.Equal(t, []Node{0, 0, 1, 1}, d.now.placed())
	d.now.do(d.now.r.Lost(d.now.now, 0, "off", true))
	require.Empty(t, d.next())
	require.Equal(t, "deployed again on nodes n1, n2", d.now.r.Where(d.cfg.Past))

	s := d.run(1)
	require.Equal(t, []Node{2, 2, 3, 3}, s.placed())
	require.Equal(t, []string{"a node could not be started again: the job does without it"}, s.notes)
	require.NotContains(t, s.sent, Send{Node: 0, Message: Message{Kind: KindSetup}})
	s.kill(1)
	require.Empty(t, d.next())

	s = d.run(2)
	require.Equal(t, []Node{3, 3, 3, 3}, s.placed())
	require.Contains(t, s.notes, "the job is deployed again on fewer nodes")
	s.kill(2)
	require.Empty(t, d.next())

	d.start(3)
	require.Equal(t, "no nodes are left for 4 ranks", d.now.end.Report)
	require.Empty(t, d.next())
	require.Nil(t, d.cfg.Past)
}

// TestSpareNodesStaySpare where all others are there.
func TestSpareNodesStaySpare(t *testing.T) {
	d := deployed(t, 5, nodesOf(3, 1))
	d.run().kill(1)
	require.Empty(t, d.next())
	require.Equal(t, []Node{0, 0, 1, 1}, d.run().placed())
}

// TestNodesWhoseEndIsNotKnown are left out.
func TestNodesWhoseEndIsNotKnown(t *testing.T) {
	d := deployed(t, 5, nodesOf(2, 0))
	s := d.run()
	s.do(s.r.Lost(s.now, 0, "the connection has broken", false))
	s.kill(2)
	require.Empty(t, d.next())
	require.True(t, d.cfg.Past.Gone(0))
	require.False(t, d.cfg.Past.Gone(1))
	d.cfg.Past.Leave(1)
	require.True(t, d.cfg.Past.Gone(1))
}

// TestNodesThatAreLateAtARestart are not waited for beyond the time for the start.
func TestNodesThatAreLateAtARestart(t *testing.T) {
	d := deployed(t, 5, nodesOf(2, 0))
	d.cfg.Timing = testTiming
	d.cfg.Timing.Start = DefaultRepeats * testTiming.Lease
	d.run().kill(2)
	require.Empty(t, d.next())
	s := newScript(t, d.cfg)
	s.handle(1, Message{Kind: KindReady, Ready: &Ready{Version: Version, Program: "p"}})
	require.Empty(t, s.starts)
	s.tick(d.cfg.Timing.Start)
	require.Equal(t, []Node{1, 1, 1, 1}, s.placed())
	require.Equal(t, []Node{0}, s.fenced)
	s.handle(0, Message{Kind: KindReady, Ready: &Ready{Version: Version, Program: "p"}})
	require.Len(t, s.starts, 4)
}

// TestDaemonThatCannotServe at a restart is left out too.
func TestDaemonThatCannotServe(t *testing.T) {
	d := deployed(t, 5, nodesOf(2, 0))
	d.run().kill(2)
	require.Empty(t, d.next())
	s := newScript(t, d.cfg)
	s.handle(0, Message{Kind: KindError, Error: &Error{Text: "no space left"}})
	require.Nil(t, s.end)
	s.handle(1, Message{Kind: KindReady, Ready: &Ready{Version: Version, Program: "p"}})
	s.do(s.r.Lost(s.now, 0, "its daemon has ended", true))
	require.Equal(t, []Node{1, 1, 1, 1}, s.placed())
}

func TestRegularNodes(t *testing.T) {
	nodes := func(slots ...int) (out []NodeConfig) {
		for i, n := range slots {
			out = append(out, NodeConfig{Name: fmt.Sprint(i), Slots: n, Spare: i >= 2})
		}
		return out
	}
	for _, c := range []struct {
		slots []int
		gone  []Node
		want  []Node
		text  string
	}{
		{slots: []int{2, 2, 2}, want: []Node{0, 1}},
		{slots: []int{2, 2, 2}, gone: []Node{0}, want: []Node{1, 2}},
		{slots: []int{2, 2, 2}, gone: []Node{0, 2}, want: []Node{1}, text: ", 1 fewer than at the start, with more ranks than slots"},
		{slots: []int{0, 2, 1}, gone: []Node{0, 2}, want: []Node{1}, text: ", 1 fewer than at the start, with more ranks than slots"},
		{slots: []int{2, 0, 1}, gone: []Node{0, 2}, want: []Node{1}, text: ", 1 fewer than at the start"},
		{slots: []int{2, 2, 1, 1}, gone: []Node{0}, want: []Node{1, 2, 3}},
		{slots: []int{2, 2, 1}, gone: []Node{0, 1, 2}, text: ", 2 fewer than at the start, with more ranks than slots"},
	} {
		past := new(Past)
		for _, n := range c.gone {
			past.Leave(n)
		}
		cfg := RootConfig{Size: 4, Nodes: nodes(c.slots...)}
		require.Equal(t, c.want, past.regular(cfg), "%v", c)
		require.Equal(t, c.text, cfg.fewer(c.want), "%v", c)
	}
}

// TestMoreRanksThanSlots: as for replacements, slots are no reason to end the job.
func TestMoreRanksThanSlots(t *testing.T) {
	d := deployed(t, 5, nodesOf(2, 0))
	d.cfg.Nodes[0].Slots, d.cfg.Nodes[1].Slots = 2, 2
	d.run()
	d.now.do(d.now.r.Lost(d.now.now, 0, "off", true))
	require.Empty(t, d.next())
	require.Equal(t, []Node{1, 1, 1, 1}, d.run().placed())
}
