package control

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// accuse lets processes say that they cannot reach another one.
func (s *script) accuse(of Proc, cut bool, by ...Proc) {
	for _, p := range by {
		s.of(p, Message{Kind: KindSuspect, Suspect: &Suspect{Proc: of, By: p, Why: "timeout", Cut: cut}})
	}
}

// TestMutualSuspicion: when a connection breaks both sides accuse each other, and
// one of them goes on.
func TestMutualSuspicion(t *testing.T) {
	s := four(t)
	s.accuse(0, false, 3)
	s.tick(time.Millisecond)
	s.accuse(3, false, 0)
	s.accuse(3, false, 3)                                                                       // of itself
	s.of(1, Message{Kind: KindSuspect, Suspect: &Suspect{Proc: 1, By: 3, Why: "a wrong name"}}) // 3 is of another node
	s.tick(testTiming.Period)
	s.tick(testTiming.Period)
	require.NotEmpty(t, s.killed(0))
	for p := Proc(1); p < 4; p++ {
		require.Empty(t, s.killed(p))
	}
	s.accuse(1, false, 0) // who is being killed accuses nobody
	s.tick(2 * testTiming.Period)
	require.Empty(t, s.killed(1))

	s = four(t)
	s.accuse(3, false, 0)
	s.kill(0)
	s.sent = nil
	s.tick(2 * testTiming.Period)
	require.Empty(t, s.sent, "its accuser is dead")
}

// TestCutHosts: of hosts that cannot reach each other the one goes that most others
// cannot reach, as a whole, whoever has said so first.
func TestCutHosts(t *testing.T) {
	hosts := func(n int) *script {
		cfg := RootConfig{Size: 2 * n}
		for i := range n {
			name := string(rune('a' + i))
			cfg.Nodes = append(cfg.Nodes, NodeConfig{Name: name, Host: name, Slots: 2})
		}
		return running(t, cfg)
	}
	stopped := func(s *script) (nodes []Node) {
		for _, m := range s.sent {
			if m.Message.Kind == KindStop {
				nodes = append(nodes, m.Node)
			}
		}
		return nodes
	}
	s := hosts(2)
	s.accuse(0, true, 2, 3)
	s.accuse(1, true, 2, 3)
	s.tick(time.Millisecond)
	s.accuse(2, true, 0, 1)
	s.tick(testTiming.Period)
	require.Equal(t, []Node{1}, stopped(s))
	s.sent = nil
	for range 20 {
		s.tick(testTiming.Period)
		s.pulses(1)
	}
	require.Contains(t, s.kinds(), KindFailed, "its ranks are lost when it is silent")
	require.Empty(t, stopped(s))

	s = hosts(3)
	for _, other := range []Proc{2, 3, 4, 5} {
		s.accuse(other, true, 0, 1)
	}
	s.accuse(0, true, 2, 4)
	s.tick(testTiming.Period)
	require.Equal(t, []Node{0}, stopped(s))

	cfg := RootConfig{Size: 4, Nodes: nodesOf(2, 0)}
	cfg.Nodes[1].Host = cfg.Nodes[0].Host
	s = running(t, cfg) // on one host a connection cannot be cut
	s.accuse(3, true, 0)
	s.tick(testTiming.Period)
	require.NotEmpty(t, s.killed(3))
	require.Empty(t, stopped(s))
}
