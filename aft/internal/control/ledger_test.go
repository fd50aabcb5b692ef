package control

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// death is one that a table enters into a ledger.
type death struct {
	rank   int
	cause  string
	lost   bool
	silent bool
	epoch  int
	step   int64 // the furthest that was reported before it
}

func (d death) enter(l *ledger, first bool) (time.Duration, string) {
	l.best.reach(0, d.step)
	p := &process{original: Original(d.rank), node: &node{NodeConfig: NodeConfig{Name: "n"}}, ending: ending{cause: d.cause, reason: d.cause}}
	p.lost, p.silenced = d.lost, d.silent
	return l.enter(p, d.epoch, first)
}

// TestLedgerCounts: one count for the job, over ranks and causes.
func TestLedgerCounts(t *testing.T) {
	causes := func(n int) string { return fmt.Sprint("signal ", 1+n) }
	for name, c := range map[string]struct {
		at    func(n int) death // the n-th one, each after a repair
		first bool
		want  int // the one that ends the job
		says  string
	}{
		"equal":                    {func(int) death { return death{rank: 1, cause: "exit status 2", step: 7} }, false, 3, "rank 1 has failed 3 times in the same way (exit status 2) and the job did not get beyond step 7"},
		"two causes alternate":     {func(n int) death { return death{rank: 1, cause: causes(n % 2), step: 7} }, false, 5, "rank 1 has failed 3 times in the same way (signal 1)"},
		"five causes alternate":    {func(n int) death { return death{rank: 1, cause: causes(n % 5), step: 7} }, false, 10, "ranks have failed 10 times"},
		"ranks alternate":          {func(n int) death { return death{rank: n % 2, cause: "signal 9", step: 7} }, false, 5, "rank 0 has failed 3 times"},
		"any rank, any cause":      {func(n int) death { return death{rank: n, cause: causes(n), step: 7} }, false, 10, "ranks have failed 10 times and the job did not get beyond step 7"},
		"no steps, equal":          {func(int) death { return death{cause: "signal 9", step: NoStep} }, false, 9, "rank 0 has failed 9 times"},
		"no steps, any":            {func(n int) death { return death{rank: n, step: NoStep} }, false, 30, "ranks have failed 30 times"},
		"before the first world":   {func(int) death { return death{cause: "signal 9", step: NoStep} }, true, 3, "rank 0 has failed 3 times"},
		"steps that grow":          {func(n int) death { return death{cause: "signal 9", step: int64(n)} }, false, 0, ""},
		"steps below zero":         {func(n int) death { return death{cause: "signal 9", step: int64(n - 1000)} }, false, 0, ""},
		"a step below zero":        {func(int) death { return death{cause: "signal 9", step: -5} }, false, 3, "beyond step -5"},
		"steps that grow slowly":   {func(n int) death { return death{cause: "signal 9", step: int64(n / 2)} }, false, 0, ""},
		"an old step":              {func(n int) death { return death{cause: "signal 9", step: int64(9 - n%4)} }, false, 3, "beyond step 9"},
		"lost nodes":               {func(n int) death { return death{rank: n, lost: true, cause: "node lost", step: 7} }, false, 20, "20 times processes were lost"},
		"fenced":                   {func(int) death { return death{silent: true, cause: "signal 9", step: 7} }, false, 20, "20 times processes were lost"},
		"fenced, no steps":         {func(int) death { return death{silent: true, cause: "signal 9", step: NoStep} }, false, 60, "60 times processes were lost"},
		"lost ones between others": {func(n int) death { return death{lost: n%2 == 1, cause: "signal 9", step: 7} }, false, 5, "rank 0 has failed 3 times"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(DefaultRepeats)
			for n := range 100 {
				d := c.at(n)
				d.epoch = n
				_, report := d.enter(&l, c.first)
				if c.want == 0 || n+1 < c.want {
					require.Empty(t, report, n)
					continue
				}
				require.Contains(t, report, c.says)
				return
			}
			require.Zero(t, c.want, "it has not ended")
		})
	}
}

// TestLedgerRounds: what ends together counts once.
func TestLedgerRounds(t *testing.T) {
	l := newLedger(DefaultRepeats)
	for epoch := range 2 {
		for rank := range 100 {
			_, report := death{rank: rank, cause: "signal 9", step: 3, epoch: epoch}.enter(&l, false)
			require.Empty(t, report)
		}
	}
	require.Len(t, l.own.rounds, 2)
	_, report := death{rank: 99, cause: "signal 11", step: 3, epoch: 1}.enter(&l, false) // again in the same repair
	require.Empty(t, report)
	require.Len(t, l.own.rounds, 3)
	require.Contains(t, l.own.rounds[2], "rank 99, process 0 on node n: signal 11")
}

// TestLedgerDelays: lost nodes and fenced processes, and those alone, are retried
// ever more slowly.
func TestLedgerDelays(t *testing.T) {
	delays := func(step int64, count int) (out []time.Duration) {
		l := newLedger(DefaultRepeats)
		for n := range count {
			death{rank: 5, cause: "signal 9", step: step, epoch: n / 2}.enter(&l, false)
			for rank := range 3 { // of one node
				delay, report := death{rank: rank, lost: true, step: step, epoch: n}.enter(&l, false)
				require.Empty(t, report)
				if rank == 0 {
					out = append(out, delay)
				}
				require.Equal(t, out[len(out)-1], delay)
			}
		}
		return out
	}
	const s = time.Second
	require.Equal(t, []time.Duration{0, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}, delays(1, 9))
	require.Equal(t, []time.Duration{0, 0, 0, s, s, s, 2 * s}, delays(NoStep, 7))
	l := newLedger(DefaultRepeats)
	for n := range 200 {
		delay, report := death{silent: true, step: int64(n), epoch: n}.enter(&l, false)
		require.Empty(t, report)
		require.Zero(t, delay, "the job gets on")
	}
}

// TestAReplacementWaits: a process is fenced again and again without progress.
func TestAReplacementWaits(t *testing.T) {
	s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
	id, victim := CommID(1), Proc(1)
	for round := range lostLimit {
		s.of(victim, Message{Kind: KindExit, Exits: []Exit{{Proc: victim, Code: -1, Signal: 9, Fenced: true, Step: 7}}})
		s.join(0, Join{Op: OpRepair, Comm: id, Policy: policy(driver.NonShrinking, driver.Reuse), Step: 7})
		if round == lostLimit-1 {
			break
		}
		victim = Proc(2 + round)
		if delay := lossDelay(round); delay > 0 {
			require.NotContains(t, s.where, victim)
			due := s.now.Add(delay)
			for s.now.Add(200 * time.Millisecond).Before(due) {
				s.pulses()
				s.tick(200 * time.Millisecond)
			}
			require.NotContains(t, s.where, victim, "still waits")
			require.False(t, s.r.Next().After(due))
			s.pulses()
			s.tick(due.Sub(s.now))
		}
		require.Contains(t, s.where, victim)
		require.True(t, s.r.Next().After(s.now), "nothing is due")
		s.hello(victim)
		id = s.made(0).New.ID
		require.Len(t, s.made(0).Change.Failed, 1)
	}
	require.Equal(t, 1, s.end.Code)
	require.Contains(t, s.end.Report, "20 times processes were lost")
	require.Contains(t, s.end.Report, "did not get beyond step 7")
}

// TestAllWait: nobody is left while they wait; a signal ends that.
func TestAllWait(t *testing.T) {
	for _, joined := range []bool{false, true} {
		s := launched(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
		loseAll := func(first Proc) {
			for p := first; joined && p < first+2; p++ {
				s.hello(p)
			}
			for p := first; p < first+2; p++ {
				s.of(p, Message{Kind: KindExit, Exits: []Exit{{Proc: p, Code: -1, Signal: 9, Fenced: true, Step: 7}}})
			}
			require.Nil(t, s.end)
		}
		loseAll(0)
		require.Len(t, s.starts, 4, "at once")
		loseAll(2)
		s.pulses()
		s.tick(900 * time.Millisecond)
		require.Len(t, s.starts, 4)
		s.pulses()
		s.tick(200 * time.Millisecond)
		require.Len(t, s.starts, 6, "together")
		loseAll(4)
		s.do(s.r.Signal(s.now, 2))
		require.Equal(t, 130, s.end.Code)
		require.Contains(t, s.end.Report, "interrupt while the ranks wait to be started again\nrank 0")
	}
}
