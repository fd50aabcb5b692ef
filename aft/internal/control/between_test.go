package control

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// When all are lost and no zone was under way, another zone may follow or not.
func TestAllRanksFailAfterAZone(t *testing.T) {
	ended := func() *script {
		s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
		for p := range Proc(2) {
			s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{}, Step: 7})
		}
		for p := range Proc(2) {
			s.kill(p)
		}
		s.hello(2)
		s.hello(3)
		require.Equal(t, 1, s.made(3).Zone)
		return s
	}
	s := ended() // it was the last one: nobody has more to do
	s.exit(2, 0)
	s.exit(3, 0)
	require.Equal(t, &End{Code: 137, Report: "rank 0 (process 0 on node n0): signal 9\nrank 1 (process 1 on node n0): signal 9"}, s.end)

	s = ended()
	for p := Proc(2); p < 4; p++ {
		s.join(p, Join{Op: OpEnd, Comm: s.made(3).New.ID, Verdict: &driver.Verdict{}, Step: NoStep})
	}
	s.exit(2, 0)
	s.exit(3, 0)
	require.Equal(t, &End{}, s.end)

	s = ended() // what is behind it kills them
	s.kill(2)
	s.kill(3)
	require.Equal(t, &End{Code: 137, Report: "rank 0 (process 2 on node n0): signal 9\nrank 1 (process 3 on node n0): signal 9"}, s.end)

	s = ended() // one only
	s.kill(2)
	s.exit(3, 0)
	require.Equal(t, 137, s.end.Code)
	require.Len(t, s.starts, 4)

	s = ended() // another zone followed
	for p := Proc(2); p < 4; p++ {
		s.of(p, Message{Kind: KindBegin, Begin: &Begin{Proc: p}})
	}
	s.kill(2)
	s.kill(3)
	require.Nil(t, s.end)
	require.Len(t, s.starts, 6)
}

// The same when the zone has ended with an error: they may end with what they returned of it.
func TestAllRanksFailAfterAZoneWithAnError(t *testing.T) {
	ended := func() *script {
		s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
		for p := range Proc(2) {
			s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{Err: "no"}})
		}
		for p := range Proc(2) {
			s.kill(p)
		}
		s.hello(2)
		s.hello(3)
		return s
	}
	for _, end := range []func(s *script, p Proc){func(s *script, p Proc) { s.exit(p, 1) }, (*script).kill} {
		s := ended()
		end(s, 2)
		end(s, 3)
		require.NotNil(t, s.end)
		require.Len(t, s.starts, 4)
		require.Equal(t, 137, s.end.Code)
	}
}

// TestAllAreKilledAfterAZoneThatRanThrough: they are started again, in case another
// zone follows, and may end without one, as after any zone.
func TestAllAreKilledAfterAZoneThatRanThrough(t *testing.T) {
	s := four(t)
	s.kill(0)
	for p := Proc(1); p < 4; p++ {
		s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{Through: true}})
	}
	for p := Proc(1); p < 4; p++ {
		s.kill(p)
	}
	for p := Proc(4); p < 8; p++ {
		s.hello(p)
	}
	require.Equal(t, 1, s.made(4).Zone)
	for p := Proc(4); p < 8; p++ {
		s.exit(p, 0)
	}
	require.NotNil(t, s.end)
	require.Len(t, s.starts, 8)
	require.Equal(t, 137, s.end.Code)
}
