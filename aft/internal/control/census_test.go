package control

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// recount is the census of who is there, and the processes of each node: those that are awake, and all.
func recount(m *membership) (c census, loads, present []int) {
	loads, present = make([]int, len(m.nodes)), make([]int, len(m.nodes))
	for _, p := range m.present {
		if p.present() {
			present[p.node.id]++
		}
		if p.present() && !p.asleep() {
			c.awake++
			loads[p.node.id]++
			if p.state == starting {
				c.starting++
			}
		}
	}
	c.ends = m.census.ends
	return c, loads, present
}

// requireCensus: what is counted all along is what counting anew gives.
func requireCensus(t *testing.T, m *membership) {
	t.Helper()
	want, loads, present := recount(m)
	require.Equal(t, want, m.census)
	for i, n := range m.nodes {
		require.Equal(t, loads[i], n.load, "node %d", i)
		require.Equal(t, present[i], n.present, "node %d", i)
	}
}

func TestCensus(t *testing.T) {
	s := running(t, RootConfig{Size: 4, Nodes: nodesOf(3, 1), SpareRanks: 1})
	m := s.r.members
	require.Equal(t, census{awake: 4}, m.census)
	requireCensus(t, m)
	s.hello(4) // the spare rank
	require.Equal(t, census{awake: 4}, m.census, "it is asleep")
	s.kill(0)
	require.Equal(t, 1, m.census.ends)
	for p := range Proc(3) {
		s.join(p+1, Join{Op: OpRepair, Comm: 1})
		requireCensus(t, m)
	}
	require.Equal(t, 4, m.census.awake, "it has woken")
	s.do(s.r.Lost(s.now, 0, "", true))
	requireCensus(t, m)
	require.False(t, m.census.awake == 0)
}

// requireWatched: no node is looked at too late.
func requireWatched(t *testing.T, m *membership) {
	t.Helper()
	for i, n := range m.nodes {
		if limit := m.limitOf(n); !limit.IsZero() {
			require.False(t, m.silentAt.IsZero() || m.silentAt.After(limit), "node %d", i)
		}
	}
}
