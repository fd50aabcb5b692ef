package embedded

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

var sleepTiming = control.Timing{Period: 100 * time.Millisecond, Lease: time.Second, Margin: 100 * time.Millisecond}

// sleepyHost is a machine with a clock that stands still while it sleeps.
type sleepyHost struct {
	clock  time.Time
	slept  time.Duration
	asleep bool
}

func (h *sleepyHost) now() time.Time { return h.clock }

// sleepyNode is a daemon and its rank.
type sleepyNode struct {
	host   *sleepyHost
	remote bool
	daemon *control.Daemon
	lease  *lease            // of the rank
	in     []control.Message // from the root, not read yet
	ended  bool
}

// sleepyJob is a job of two hosts: the root is on that of node 0.
type sleepyJob struct {
	t     *testing.T
	hosts [2]*sleepyHost
	nodes [2]*sleepyNode
	root  *control.Root
	up    []func()       // messages to the root, not read yet
	lost  []control.Proc // as the root has told
}

func newSleepyJob(t *testing.T) *sleepyJob {
	j := &sleepyJob{t: t}
	cfg := control.RootConfig{Size: 2, Timing: sleepTiming}
	for i, name := range []string{"here", "there"} {
		j.hosts[i] = &sleepyHost{clock: time.Unix(int64(1000*i), 0), slept: time.Duration(i) * time.Minute}
		j.nodes[i] = &sleepyNode{host: j.hosts[i]}
		cfg.Nodes = append(cfg.Nodes, control.NodeConfig{Name: name, Host: name, Local: i == 0, Slots: 1})
	}
	var err error
	j.root, err = control.NewRoot(cfg)
	require.NoError(t, err)
	j.rootActions(j.root.Begin(j.hosts[0].clock))
	return j
}

func (j *sleepyJob) rootActions(list []control.Action) {
	for _, a := range list {
		if a.Send != nil {
			n := j.nodes[a.Send.Node]
			n.in = append(n.in, a.Send.Message)
			j.lost = append(j.lost, a.Send.Message.Failed...)
		}
	}
}

// pass lets time pass: in steps, for those hosts that do not sleep.
func (j *sleepyJob) pass(d time.Duration) {
	for step := sleepTiming.Period / 4; d > 0; d -= step {
		for _, h := range j.hosts {
			if h.asleep {
				h.slept += step
			} else {
				h.clock = h.clock.Add(step)
			}
		}
		for id, n := range j.nodes {
			if !n.host.asleep && !n.ended {
				j.turn(control.Node(id), n)
			}
		}
		if root := j.hosts[0]; !root.asleep {
			up := j.up
			j.up = nil
			for _, deliver := range up {
				deliver()
			}
			j.rootActions(j.root.Tick(root.clock))
		}
	}
}

// turn is what a node does in one step.
func (j *sleepyJob) turn(id control.Node, n *sleepyNode) {
	if n.remote {
		n.daemon.Slept(n.host.slept)
	}
	now := n.host.clock
	in := n.in
	n.in = nil
	for _, m := range in {
		if m.Kind == control.KindSetup {
			n.daemon, n.remote = control.NewDaemon(*m.Setup), m.Setup.Remote
			j.toRoot(id, control.Message{Kind: control.KindReady, Ready: &control.Ready{Version: control.Version}})
			continue
		}
		j.daemonActions(id, n, n.daemon.FromRoot(now, m))
	}
	j.daemonActions(id, n, n.daemon.Tick(now))
	if n.lease == nil || n.ended {
		return
	}
	seq, err := n.lease.next()
	if err != nil {
		n.ended = true
		return
	}
	j.daemonActions(id, n, n.daemon.FromRank(now, control.Proc(id), control.Message{Kind: control.KindPulse, Pulse: &control.Pulse{Seq: seq}}))
}

func (j *sleepyJob) toRoot(id control.Node, m control.Message) {
	j.up = append(j.up, func() { j.rootActions(j.root.Handle(j.hosts[0].clock, id, m)) })
}

func (j *sleepyJob) daemonActions(id control.Node, n *sleepyNode, list []control.DaemonAction) {
	for _, a := range list {
		switch {
		case a.ToRoot != nil:
			j.toRoot(id, *a.ToRoot)
		case a.ToRank != nil && a.ToRank.Message.Kind == control.KindPulse:
			n.lease.renew(*a.ToRank.Message.Pulse)
		case a.Start != nil:
			slept := func() time.Duration { return 0 }
			if n.remote {
				slept = func() time.Duration { return n.host.slept }
			}
			n.lease = startLease(sleepTiming, n.host.now, slept)
			hello := control.Message{Kind: control.KindHello, Hello: &control.Hello{Version: control.Version, Address: "here"}}
			j.daemonActions(id, n, n.daemon.FromRank(n.host.clock, a.Start.Proc, hello))
		case a.Kill != nil, a.End != nil:
			n.ended = true
		}
	}
}

// may: the rank of a node publishes what it has.
func (j *sleepyJob) may(node int) bool {
	unsure, err := j.nodes[node].lease.permits()
	return !j.nodes[node].ended && unsure == nil && err == nil
}

// TestTheWholeJobSleeps: it goes on where it was, and nobody has failed.
func TestTheWholeJobSleeps(t *testing.T) {
	j := newSleepyJob(t)
	j.pass(5 * time.Second)
	require.True(t, j.may(0) && j.may(1))
	for _, h := range j.hosts {
		h.asleep = true
	}
	j.pass(time.Hour)
	for _, h := range j.hosts {
		h.asleep = false
	}
	require.True(t, j.may(0), "the root has slept as well")
	require.False(t, j.may(1), "it cannot know whether the root has slept")
	j.pass(4 * sleepTiming.Period)
	require.True(t, j.may(1), "the root has answered")
	j.pass(5 * time.Second)
	require.True(t, j.may(0) && j.may(1))
	require.Empty(t, j.lost)
}

// TestOneHostSleeps: from when the root may have given it up it publishes nothing, and
// then it ends.
func TestOneHostSleeps(t *testing.T) {
	j := newSleepyJob(t)
	j.pass(5 * time.Second)
	j.hosts[1].asleep = true
	j.pass(time.Minute) // an hour would be as many ticks of the root
	require.Equal(t, []control.Proc{1}, j.lost)
	j.hosts[1].asleep = false
	for woken := time.Duration(0); !j.nodes[1].ended; woken += sleepTiming.Period / 4 {
		require.False(t, j.may(1))
		require.Less(t, woken, 2*sleepTiming.Lease, "it lives on")
		j.pass(sleepTiming.Period / 4)
	}
	require.True(t, j.may(0))

	j = newSleepyJob(t) // a nap is no reason to give anybody up
	for range 20 {
		j.pass(time.Second)
		j.hosts[1].asleep = true
		j.pass(sleepTiming.Lease / 2)
		j.hosts[1].asleep = false
	}
	j.pass(time.Second)
	require.True(t, j.may(1))
	require.Empty(t, j.lost)
}

// TestPublishingWaitsForTheAnswer: after a sleep, until it is known what became of the
// job.
func TestPublishingWaitsForTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slept time.Duration
		l := startLease(sleepTiming, time.Now, func() time.Duration { return slept })
		require.NoError(t, l.check())
		slept = time.Hour
		seq, err := l.next()
		require.NoError(t, err)
		time.AfterFunc(300*time.Millisecond, func() { l.renew(control.Pulse{Seq: seq, Left: sleepTiming.Lease}) })
		asked := time.Now()
		require.NoError(t, l.check())
		require.Equal(t, 300*time.Millisecond, time.Since(asked))

		slept += time.Hour
		asked = time.Now()
		require.ErrorIs(t, l.check(), driver.ErrFenced, "nobody answers")
		require.Less(t, time.Since(asked), 2*sleepTiming.Lease)
	})
}
