package control

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/demand"
)

// joins has a process join whose program takes SIGTERM for a request.
func (s *script) joins(p Proc) {
	s.handle(s.where[p], Message{Kind: KindHello, Hello: &Hello{Proc: p, Version: Version, Address: "a", Takes: []Take{{Signal: 15, Takes: demand.TakesEnd}}}})
}

// What comes before anybody has said what it means is kept, and is what all say then.
func TestSignalBeforeTheFirstJoins(t *testing.T) {
	cfg := RootConfig{Size: 2, Nodes: nodesOf(1, 0), Grace: time.Minute}
	s := launched(t, cfg)
	s.do(s.r.Signal(s.now, sigterm))
	s.do(s.r.Signal(s.now, sigterm))
	require.NotContains(t, s.kinds(), KindSignal)
	s.joins(0)
	s.joins(1)
	require.NotContains(t, s.kinds(), KindSignal)
	require.Contains(t, s.kinds(), KindHold, "they are asked in the first world")
	require.Equal(t, demand.TakesEnd, s.r.Takes(sigterm))
	require.Nil(t, s.made(0).Stops, "it is no signal any more")
	s.exit(0, 75)
	s.exit(1, 75)
	require.Equal(t, End{Code: 75, Report: "the job is to go on later: its ranks have all ended with exit status 75"}, *s.end)

	s = launched(t, cfg) // a program that takes none
	s.do(s.r.Signal(s.now, sigterm))
	s.hello(0)
	require.Contains(t, s.kinds(), KindSignal)

	s = launched(t, cfg) // and one that never joins
	s.do(s.r.Signal(s.now, sigterm))
	s.do(s.r.Signal(s.now, int(syscall.SIGINT)))
	require.Len(t, s.forwarded(), 1, "it waits for nothing")
	for range 10 { // in less than a lease each
		s.pulses()
		s.tick(earlyPatience / 10)
	}
	require.Equal(t, []int{int(syscall.SIGINT), sigterm}, s.forwarded())
	s.signalled(0, sigterm)
	s.signalled(1, sigterm)
	require.Equal(t, 143, s.end.Code)
}

// Signals of the user's that come before anybody takes them would end the ranks, too.
func TestUserSignalsBeforeTheFirstJoins(t *testing.T) {
	s := newScript(t, two(2))
	s.do(s.r.Signal(s.now, int(syscall.SIGUSR1)))
	s.now = s.now.Add(2 * earlyPatience) // before they are started, however long that takes
	s.do(s.r.Tick(s.now))
	for n := range Node(2) {
		s.handle(n, Message{Kind: KindReady, Ready: &Ready{Version: Version, Program: "p"}})
	}
	require.Empty(t, s.forwarded())
	for p := range Proc(2) {
		s.of(p, Message{Kind: KindHello, Hello: &Hello{Proc: p, Version: Version, Takes: takesTerm}})
	}
	require.Empty(t, s.forwarded())
	require.False(t, s.hold().Demands[0].Ends())
}

// A batch system that signals all processes is not taken for somebody who kills ranks, though the launcher waits.
func TestEarlySignalExcusesThoseWhoDieOfIt(t *testing.T) {
	s := launched(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
	s.do(s.r.Signal(s.now, sigterm))
	s.signalled(0, sigterm)
	s.signalled(1, sigterm)
	require.Equal(t, 143, s.end.Code)
	require.Len(t, s.starts, 2)
}

// forwarded are those that were forwarded to all ranks.
func (s *script) forwarded() (numbers []int) {
	for _, send := range s.sent {
		if send.Message.Kind == KindSignal {
			numbers = append(numbers, send.Message.Signal.Number)
		}
	}
	return numbers
}

// The codes that all ranks have in common say what is to become of the job, in one line.
func TestEndOnPurpose(t *testing.T) {
	for _, c := range []struct {
		codes  []int
		report string
	}{
		{[]int{75, 75}, "the job is to go on later: its ranks have all ended with exit status 75"},
		{[]int{99, 99}, "the job is to go on later: its ranks have all ended with exit status 99"},
		{[]int{76, 76}, "the job was halted: its ranks have all ended with exit status 76, and it is not to go on by itself"},
		{[]int{130, 130}, "the job was interrupted: its ranks have all ended with exit status 130"},
		{[]int{0, 75}, "rank 1 (process 1 on node n0): exit status 75"},
		{[]int{75, 0}, "rank 0 (process 0 on node n0): exit status 75"},
		{[]int{75, 76}, "rank 0 (process 0 on node n0): exit status 75\nrank 1 (process 1 on node n0): exit status 76"},
		{[]int{3, 3}, "rank 0 (process 0 on node n0): exit status 3\nrank 1 (process 1 on node n0): exit status 3"},
		{[]int{0, 0}, ""},
	} {
		s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0), RequeueCode: 99})
		s.do(s.r.Ask(s.now, demand.Demand{Cause: demand.Deadline, Source: "x", Left: demand.NoLimit}))
		for p, code := range c.codes {
			s.exit(Proc(p), code)
		}
		require.NotNil(t, s.end, c)
		require.Equal(t, c.report, s.end.Report)
		next, _ := s.r.Sequel(5)
		require.Nil(t, next, c)
	}
}

// What a node has planned is of no interest when the node is lost.
func TestNoticesGoWithTheirNode(t *testing.T) {
	s := running(t, RootConfig{Size: 2, Nodes: nodesOf(3, 1)})
	plan := func(source string, left time.Duration) *demand.Demand {
		return &demand.Demand{Cause: demand.Deadline, Source: source, Left: left, Planned: true}
	}
	s.handle(1, Message{Kind: KindNotice, Ask: plan("notice of n1", time.Hour)})
	s.handle(1, Message{Kind: KindAsk, Ask: plan("program", 3*time.Hour)})
	s.handle(1, Message{Kind: KindNotice, Ask: plan("notice of n1", time.Hour)})
	require.Equal(t, 1, strings.Count(strings.Join(s.notes, "\n"), "a node is to go away: the job saves and ends before"))
	s.handle(0, Message{Kind: KindNotice, Ask: plan("notice of n0", 2*time.Hour)})
	s.sent = nil
	s.do(s.r.Lost(s.now, 1, "gone", true))
	var told []demand.Demand
	for _, send := range s.sent {
		if h := send.Message.Hold; h != nil {
			told = append(told, h.Demands...)
		}
	}
	require.Equal(t, []demand.Demand{*plan("notice of n1", demand.NoLimit)}, told)
	cause, _ := s.r.demands.decider.Ending(s.now)
	require.Equal(t, demand.None, cause)
}
