package control

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// TestNewcomerToTheFirstWorld: one that is started again after a signal, before all have joined,
// has not heard of it; the others have.
func TestNewcomerToTheFirstWorld(t *testing.T) {
	stop := int(syscall.SIGTERM)
	s := launched(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
	s.hello(0)
	s.do(s.r.Signal(s.now, stop))
	s.wait(time.Second)
	s.kill(1)
	s.hello(2)
	require.Empty(t, s.made(0).Stops)
	require.Equal(t, []int{stop}, s.made(2).Stops)
	require.Equal(t, s.made(0).New, s.made(2).New)
}

// TestReplacementHears of a request as long as others may be about to end, and has as much time for
// an answer as those who were told first. Later it does if one of them waits at its end: else all
// ignore it.
func TestReplacementHears(t *testing.T) {
	stop := int(syscall.SIGTERM)
	for after, told := range map[time.Duration]struct{ busy, waiting bool }{
		0:                          {true, true},
		StopPatience - time.Second: {true, true},
		StopPatience:               {false, true},
		StopHolds - time.Second:    {false, true},
		StopHolds:                  {false, false},
	} {
		for _, waiting := range []bool{false, true} {
			t.Run(fmt.Sprint(after, waiting), func(t *testing.T) {
				s := four(t)
				s.do(s.r.Signal(s.now, stop))
				s.do(s.r.Signal(s.now, int(syscall.SIGUSR1)))
				s.wait(after)
				if waiting {
					s.join(3, Join{Op: OpEnd, Verdict: &driver.Verdict{}, Step: NoStep})
				}
				s.kill(2)
				for p := range Proc(4) {
					if p != 2 && (p != 3 || !waiting) {
						s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{Failure: true}, Step: NoStep})
					}
				}
				s.repairAll(1, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 3)
				s.hello(4)
				require.Empty(t, s.made(0).Stops)
				if waiting && !told.waiting || !waiting && !told.busy {
					require.Empty(t, s.made(4).Stops)
					return
				}
				require.Equal(t, []int{stop}, s.made(4).Stops)
				s.wait(StopPatience - time.Second)
				for _, p := range []Proc{4, 0, 1, 3} {
					require.Nil(t, s.end)
					s.exit(p, 75)
				}
				require.NotNil(t, s.end)
				require.Equal(t, 75, s.end.Code)
				require.Len(t, s.starts, 5)
			})
		}
	}
}

// endAndRepair: bodies end, and those who have come to that repair.
func (s *script) endAndRepair(v driver.Verdict, procs ...Proc) {
	world := s.r.rendezvous.groups.world.id
	for _, p := range procs {
		s.join(p, Join{Op: OpEnd, Comm: world, Verdict: &v, Step: NoStep})
	}
	s.repairAll(1, world, policy(driver.NonShrinking, driver.Reuse), procs...)
}

// TestReplacementOfAnAnswer: who replaces a rank whose end was taken for the answer to a signal
// is told of it as well: the others may have done what it asks for, and wait. So is the next one.
func TestReplacementOfAnAnswer(t *testing.T) {
	stop := int(syscall.SIGTERM)
	exits := func(s *script, p Proc) { s.exit(p, 3) }
	for name, c := range map[string]struct {
		end  func(s *script, p Proc)
		late bool // the others go on until patience is over
		dies bool // the first replacement, before it is told
	}{
		"an exit":                  {end: exits},
		"the signal":               {end: func(s *script, p Proc) { s.signalled(p, stop) }},
		"while the others work":    {end: exits, late: true},
		"and its replacement dies": {end: exits, dies: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := four(t)
			repair := func() { s.endAndRepair(driver.Verdict{Failure: c.late}, 0, 1, 3) }
			s.do(s.r.Signal(s.now, stop))
			s.wait(time.Second)
			c.end(s, 2)
			if !c.late {
				repair()
			}
			s.wait(StopPatience - time.Second)
			if c.late {
				repair()
			}
			p := Proc(4)
			if c.dies {
				s.kill(p)
				p++
			}
			require.Len(t, s.starts, int(p)+1)
			s.hello(p)
			require.Equal(t, []int{stop}, s.made(p).Stops)
			s.wait(time.Second)
			c.end(s, p)
			repair()
			s.wait(StopPatience - time.Second)
			require.Len(t, s.starts, int(p)+2)
			s.hello(p + 1)
			require.Equal(t, []int{stop}, s.made(p+1).Stops)
			for _, q := range []Proc{0, 1, 3, p + 1} {
				require.Nil(t, s.end)
				s.bye(q)
				s.exit(q, 0)
			}
			require.Equal(t, End{}, *s.end)
		})
	}
}

// TestReplacementThatDiesOfWhatOthersIgnore has had no code for it yet: the next one is not told.
func TestReplacementThatDiesOfWhatOthersIgnore(t *testing.T) {
	stop := int(syscall.SIGTERM)
	s := four(t)
	s.do(s.r.Signal(s.now, stop))
	s.wait(StopPatience / 2)
	s.kill(2)
	s.endAndRepair(driver.Verdict{Failure: true}, 0, 1, 3)
	s.hello(4)
	require.Equal(t, []int{stop}, s.made(4).Stops)
	s.signalled(4, stop)
	s.endAndRepair(driver.Verdict{Failure: true}, 0, 1, 3)
	s.wait(StopPatience)
	s.hello(5)
	require.Empty(t, s.made(5).Stops)
}

// TestOtherSignals are no requests to end: who dies of one has not answered an older one.
func TestOtherSignals(t *testing.T) {
	s := four(t)
	s.do(s.r.Signal(s.now, int(syscall.SIGTERM)))
	s.wait(2 * StopPatience)
	for p := Proc(2); p < 6; p++ {
		s.do(s.r.Signal(s.now, int(syscall.SIGUSR1)))
		s.signalled(p, int(syscall.SIGUSR1))
		s.endAndRepair(driver.Verdict{Failure: true}, 0, 1, 3)
		s.wait(StopPatience)
		require.Nil(t, s.end)
		next := max(p+1, 4)
		s.hello(next)
		require.Empty(t, s.made(next).Stops)
		p = next - 1
	}
}

// TestRankThatEndsEachTime it is asked to, while the others wait for it, as they do for one that was
// killed: the job ends, whatever progress there is. So it does if the end is told late, as what a
// script has started goes on.
func TestRankThatEndsEachTime(t *testing.T) {
	for _, ago := range []time.Duration{0, StopPatience} {
		s := four(t)
		fails := func(p Proc) {
			if ago > 0 { // the program was killed with what was left
				s.outlived(p)
			}
			s.of(p, Message{Kind: KindExit, Exits: []Exit{{Proc: p, Code: 3, Step: int64(p), Ago: ago}}})
			s.endAndRepair(driver.Verdict{}, 0, 1, 3)
		}
		fails(2)
		s.hello(4)
		fails(4) // what was before the signal does not count
		s.hello(5)
		s.do(s.r.Signal(s.now, int(syscall.SIGTERM)))
		for p := Proc(5); p < 8; p++ {
			require.Nil(t, s.end)
			s.wait(time.Second + ago)
			fails(p)
			s.wait(max(0, StopPatience-time.Second-ago))
			if s.end == nil {
				s.hello(p + 1)
			}
		}
		require.NotNil(t, s.end)
		require.Contains(t, s.end.Report, "rank 2 has ended 3 times as the job was asked to, while others wait for it")
	}
}

// TestRequestHeededLate: those who come to the end of their body after a newcomer was not told of a
// request show that it holds: it is told then, unless it has come to the end as well.
func TestRequestHeededLate(t *testing.T) {
	for _, away := range []bool{false, true} {
		s := four(t)
		s.do(s.r.Signal(s.now, sighup))
		s.wait(StopPatience + time.Second)
		s.kill(2)
		s.endAndRepair(driver.Verdict{Failure: true}, 0, 1, 3)
		s.hello(4)
		require.Empty(t, s.made(4).Stops)
		world := s.r.rendezvous.groups.world.id
		if away {
			s.join(4, Join{Op: OpEnd, Comm: world, Verdict: &driver.Verdict{Failure: true}, Step: NoStep})
		}
		s.sent = nil
		s.join(0, Join{Op: OpEnd, Comm: world, Verdict: &driver.Verdict{}, Step: NoStep})
		s.join(1, Join{Op: OpEnd, Comm: world, Verdict: &driver.Verdict{}, Step: NoStep})
		told := s.messages(KindSignal)
		if away {
			require.Empty(t, told)
			continue
		}
		require.Len(t, told, 1)
		require.Equal(t, Signal{Number: sighup, Procs: []Proc{4}}, *told[0].Signal)
	}
}

// TestZoneEndsAfterARequest: that all have come to its end is no sign, as more zones may follow.
func TestZoneEndsAfterARequest(t *testing.T) {
	s := four(t)
	s.do(s.r.Signal(s.now, sighup))
	for p := range Proc(4) {
		s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{}, Step: NoStep})
	}
	s.wait(2 * StopPatience)
	s.of(0, Message{Kind: KindBegin, Begin: &Begin{Proc: 0}})
	s.kill(2)
	for _, p := range []Proc{0, 1, 3} {
		s.join(p, Join{Op: OpEnd, Seq: 1, Verdict: &driver.Verdict{Failure: true}, Step: NoStep})
	}
	s.repairAll(2, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 3)
	s.hello(4)
	require.Empty(t, s.made(4).Stops)
}
