package scale

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// after is what a failure costs in a small job.
func after(t *testing.T, nodes, ranks, fanOut int, policy driver.Recovery) Result {
	o, err := Run(Config{Nodes: nodes, Ranks: ranks, FanOut: fanOut, Policy: policy, Fails: Process, Model: Default, Timing: Timing})
	require.NoError(t, err)
	return o.Recovery
}

// TestMessagesOfRanks: daemons gather, so that the root has no more messages where nodes have more ranks.
func TestMessagesOfRanks(t *testing.T) {
	for _, policy := range Policies {
		one, many := after(t, 20, 1, 0, policy), after(t, 20, 16, 0, policy)
		require.InDelta(t, one.In.Messages, many.In.Messages, 10, policy)
		require.InDelta(t, one.Out.Messages, many.Out.Messages, 10, policy)
	}
}

// TestBytesOfRanks: what the root tells of a failure is as long where nodes have more ranks. Only newcomers are told
// of all processes. So with a tree, which brings the same to all nodes, the root's bytes do not grow at all.
func TestBytesOfRanks(t *testing.T) {
	for _, policy := range Policies {
		for _, fanOut := range []int{0, 4} {
			bytes := func(ranks int) int {
				r := after(t, 20, ranks, fanOut, policy)
				require.Positive(t, r.Introductions)
				return r.Out.Bytes - r.Introductions
			}
			const few, many = 8, 64
			require.Less(t, bytes(many)-bytes(few), 6*(many-few), "%s, fan-out %d: the ranks of one node are named, not those of 20", policy, fanOut)
		}
	}
}

// TestTree: the root has few messages, whatever the number of nodes, and the same is decided.
func TestTree(t *testing.T) {
	for _, nodes := range []int{40, 200} {
		r := after(t, nodes, 2, 4, driver.GlobalRestart)
		require.Less(t, r.In.Messages, 60, "%d nodes", nodes)
		require.Less(t, r.Out.Messages, 60, "%d nodes", nodes)
	}
}

// TestModel: what is slower in the model takes longer in the job.
func TestModel(t *testing.T) {
	c := Config{Nodes: 10, Ranks: 2, Policy: driver.NonShrinking, Fails: Process, Model: Default, Timing: Timing}
	run := func(change func(*Model)) time.Duration {
		slow := c
		change(&slow.Model)
		o, err := Run(slow)
		require.NoError(t, err)
		return o.Recovery.Time
	}
	usual := run(func(*Model) {})
	require.Equal(t, usual, run(func(*Model) {}), "the same again")
	require.Greater(t, run(func(m *Model) { m.Latency += time.Millisecond }), usual+8*time.Millisecond, "eight messages follow one another")
	require.InDelta(t, run(func(m *Model) { m.Boot += time.Second }), usual+time.Second, float64(10*time.Microsecond), "times are in the messages, too")
	require.InDelta(t, run(func(m *Model) { m.Spawn += time.Second }), usual+time.Second, float64(10*time.Microsecond), "times are in the messages, too")
	require.Greater(t, run(func(m *Model) { m.Bandwidth /= 1000 }), usual)
	require.Greater(t, run(func(m *Model) { m.Decode *= 10 }), usual)
}

// TestEnds: a job that the root gives up is an error that says why.
func TestEnds(t *testing.T) {
	c := Config{Nodes: 4, Ranks: 1, Policy: driver.NonShrinking, Fails: Process, Model: Default, Timing: Timing}
	c.Model.Latency = 40 * time.Second
	_, err := Run(c)
	require.ErrorContains(t, err, "node n00000.cluster has not reported within 30s")
}
