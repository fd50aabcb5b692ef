package control

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newMembers are four processes that have joined, two on each of two nodes, without anybody who
// would start others or decide what they do together.
func newMembers(nodes []NodeConfig) *membership {
	m := newMembership(RootConfig{Timing: testTiming, Nodes: nodes}, new(outbox), &stopRequests{forwarded: make(map[int]forwarding)})
	m.latest = make([]*process, 4)
	for _, n := range m.nodes {
		n.ready = true
	}
	for o := range m.latest {
		p := m.enlist(time.Unix(1000, 0), Original(o), m.nodes[o/2])
		p.state, p.announced = alive, true
		m.world = append(m.world, p)
	}
	return m
}

// TestEndsOfProcesses: what the end of process 3 is taken for, and what the others are told.
func TestEndsOfProcesses(t *testing.T) {
	now := time.Unix(2000, 0)
	killed, wrong, well := Exit{Proc: 3, Code: -1, Signal: 9}, Exit{Proc: 3, Code: 1}, Exit{Proc: 3}
	cases := map[string]struct {
		before   func(m *membership, p *process)
		exit     Exit
		state    procState
		presumed bool
		code     int
	}{
		"killed":                      {exit: killed, state: failed, code: 137},
		"an exit in a body":           {exit: wrong, state: failed, code: 1},
		"also with code 0":            {exit: well, state: failed, code: 1},
		"said Bye":                    {before: func(_ *membership, p *process) { p.bye = true }, exit: wrong, state: left, code: 1},
		"fenced behind Bye":           {before: func(_ *membership, p *process) { p.bye, p.fenced = true, true }, exit: killed, state: left},
		"not needed":                  {before: func(_ *membership, p *process) { p.discarded = true }, exit: killed, state: left},
		"others are in the next zone": {before: func(_ *membership, p *process) { p.settled = settledWell }, exit: well, state: failed, code: 1},
		"behind the last zone": {before: func(m *membership, _ *process) {
			for _, p := range m.world {
				p.settled = settledWell
			}
		}, exit: well, state: left, presumed: true},
		"asked to end": {before: func(m *membership, _ *process) {
			m.stops.forwarded[int(syscall.SIGTERM)] = forwarding{now, now}
		}, exit: wrong, state: left, presumed: true, code: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMembers(nodesOf(2, 0))
			p := m.latest[3]
			if c.before != nil {
				c.before(m, p)
			}
			m.exits(now, m.nodes[1], []Exit{c.exit})
			require.Equal(t, c.state, p.state)
			require.Equal(t, c.presumed, p.presumed)
			require.Equal(t, c.code, p.code)
			require.Len(t, m.present, 3)
			told := m.out.take()[0].Send.Message
			require.Equal(t, c.state == failed, len(told.Failed) == 1)
			require.Equal(t, c.state == left, len(told.Left) == 1)
		})
	}
}

// TestLostNodeAlone: what runs there has failed, but for those who had left.
func TestLostNodeAlone(t *testing.T) {
	m := newMembers(nodesOf(2, 0))
	m.latest[2].bye = true
	m.declareLost(m.nodes[1], "off")
	require.Equal(t, m.latest[:2], m.present)
	require.Equal(t, left, m.latest[2].state)
	require.Equal(t, "node lost: off", m.latest[3].reason)
	require.Nil(t, m.proc(3))
}
