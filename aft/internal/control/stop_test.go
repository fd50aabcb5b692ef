package control

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

var sighup = int(syscall.SIGHUP)

func (s *script) panics(p Proc) {
	s.of(p, Message{Kind: KindExit, Exits: []Exit{{Proc: p, Code: 2, Panic: "panic: a bug", Step: NoStep}}})
}

// wait lets time go by in which the nodes give signs of life.
func (s *script) wait(d time.Duration) {
	for ; d > 0; d -= time.Second {
		s.pulses()
		s.tick(min(d, time.Second))
	}
}

// TestIgnoredSignal: a program goes on after a signal that asks for its end, and
// fails later.
func TestIgnoredSignal(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(s *script) // of rank 2
		at   time.Duration   // after the signal
		wait time.Duration   // until it is replaced
		why  string
	}{
		"a panic":        {func(s *script) { s.panics(2) }, time.Second, 0, "exit status 2 (panic: a bug)"},
		"killed":         {func(s *script) { s.kill(2) }, time.Second, 0, "signal 9"},
		"an exit":        {func(s *script) { s.exit(2, 3) }, time.Second, StopPatience - time.Second, "exit status 3 after the signal hangup was forwarded"},
		"the signal":     {func(s *script) { s.signalled(2, sighup) }, time.Second, StopPatience - time.Second, "signal 1 after the signal hangup was forwarded"},
		"an exit, later": {func(s *script) { s.exit(2, 3) }, StopPatience, 0, "exit status 3"},
	} {
		t.Run(name, func(t *testing.T) {
			s := four(t)
			s.do(s.r.Signal(s.now, sighup))
			s.wait(c.at)
			c.end(s)
			s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 3)
			if c.wait > 0 {
				s.wait(c.wait - time.Second)
				require.Len(t, s.starts, 4, "the others may be about to end as well")
				s.wait(time.Second)
			}
			require.Len(t, s.starts, 5)
			s.hello(4)
			require.Equal(t, []Proc{0, 1, 4, 3}, s.made(0).New.Procs, "NON-SHRINKING")
			require.Equal(t, c.why, s.made(0).Change.Failed[0].Reason)
			for _, p := range []Proc{0, 1, 3, 4} {
				s.bye(p)
				s.exit(p, 0)
			}
			require.Equal(t, End{}, *s.end, "the failure was dealt with")
		})
	}
	t.Run("shrinking", func(t *testing.T) {
		s := four(t)
		s.do(s.r.Signal(s.now, sighup))
		s.exit(2, 3)
		s.repairAll(0, 1, policy(driver.Shrinking, driver.Reuse), 0, 1, 3)
		require.Equal(t, []Proc{0, 1, 3}, s.made(0).New.Procs)
		require.Len(t, s.made(0).Change.Failed, 1)
	})
}

// TestObeyedSignal: those who end one after the other are not started again.
func TestObeyedSignal(t *testing.T) {
	for name, play := range map[string]func(s *script) (last []Proc){
		"while the others would repair": func(s *script) []Proc {
			s.do(s.r.Signal(s.now, sighup))
			s.exit(2, 75)
			s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 3)
			s.wait(StopPatience / 2)
			return []Proc{0, 1, 3}
		},
		"during a repair": func(s *script) []Proc {
			s.kill(2)
			s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 3)
			s.do(s.r.Signal(s.now, sighup))
			return []Proc{4, 0, 1, 3}
		},
		"while all are started again": func(s *script) []Proc {
			for p := range Proc(4) {
				s.kill(p)
			}
			s.do(s.r.Signal(s.now, sighup))
			return []Proc{4, 5, 6, 7}
		},
		"after patience": func(s *script) []Proc {
			s.do(s.r.Signal(s.now, sighup))
			s.wait(10 * StopPatience)
			return []Proc{0, 1, 2, 3}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := four(t)
			last := play(s)
			starts := len(s.starts)
			for _, p := range last {
				require.Nil(t, s.end)
				s.exit(p, 75)
			}
			require.NotNil(t, s.end)
			require.Equal(t, 75, s.end.Code)
			require.Contains(t, s.end.Report, "exit status 75")
			require.Len(t, s.starts, starts)
		})
	}
}

// TestPanicOfAllAfterASignal: it is none of the ends that an old signal may have asked for.
func TestPanicOfAllAfterASignal(t *testing.T) {
	s := four(t)
	s.do(s.r.Signal(s.now, sighup))
	s.wait(2 * StopPatience)
	for p := range Proc(4) {
		s.panics(p)
	}
	require.Nil(t, s.end)
	require.Len(t, s.starts, 8)
}

// TestPanicOfAllBySignal: must(ctx.Err()) is the end that was asked for.
func TestPanicOfAllBySignal(t *testing.T) {
	s := four(t)
	s.do(s.r.Signal(s.now, int(syscall.SIGTERM)))
	s.wait(time.Second)
	for p := range Proc(4) {
		s.panics(p)
	}
	require.NotNil(t, s.end)
	require.Equal(t, 2, s.end.Code)
	require.Len(t, s.starts, 4)
}

// TestSignalAgainAndAgain: one that is ignored, and comes again, does not put off that a rank
// has failed.
func TestSignalAgainAndAgain(t *testing.T) {
	for _, between := range []bool{false, true} {
		s := four(t)
		if between {
			for p := range Proc(4) {
				s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{}, Step: NoStep})
			}
			s.exit(2, 0)
		}
		for range 4 {
			s.do(s.r.Signal(s.now, sighup))
			switch {
			case between:
				s.of(0, Message{Kind: KindBegin, Begin: &Begin{Proc: 0}})
			case s.r.members.latest[2].state == alive:
				s.exit(2, 1)
			}
			s.wait(StopPatience * 2 / 3)
		}
		require.Equal(t, failed, s.r.members.latest[2].state)
	}
}

// askedToEnd is a job in which a rank has failed after SIGTERM, and process 4 is in its place.
func askedToEnd(t *testing.T) *script {
	s := four(t)
	s.do(s.r.Signal(s.now, int(syscall.SIGTERM)))
	s.wait(time.Second)
	s.panics(2)
	s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 3)
	require.Len(t, s.starts, 5, "at once: the others can save only in a communicator")
	s.hello(4)
	require.Len(t, s.made(0).New.Procs, 4)
	return s
}

// TestReplacementFailsBySignal: what replacements do about a signal that they have been told of
// does not end the job before the others have saved what they have, nor does it keep
// them from doing so.
func TestReplacementFailsBySignal(t *testing.T) {
	s := askedToEnd(t)
	for p := Proc(4); p < 9; p++ {
		s.panics(p)
		s.repairAll(0, s.made(0).New.ID, policy(driver.NonShrinking, driver.Reuse), 0, 1, 3)
		require.Contains(t, s.notes, "a replacement waits: the job was asked to end")
		s.wait(askedDelay - time.Second)
		require.Len(t, s.starts, int(p)+1)
		s.wait(time.Second)
		require.Len(t, s.starts, int(p)+2)
		s.hello(p + 1)
		require.Equal(t, []Proc{0, 1, p + 1, 3}, s.made(0).New.Procs)
	}
	s.panics(9)
	for _, p := range []Proc{0, 1, 3} {
		require.Nil(t, s.end)
		s.exit(p, 0)
	}
	require.NotNil(t, s.end)
	require.Equal(t, 2, s.end.Code)
	require.Len(t, s.starts, 10)
}

// TestReplacementFailsBeforeItHears: it has not been told to end, so that is none of the reasons.
func TestReplacementFailsBeforeItHears(t *testing.T) {
	s := four(t)
	s.do(s.r.Signal(s.now, int(syscall.SIGTERM)))
	s.wait(time.Second)
	s.kill(2)
	s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 3)
	s.kill(4)
	require.Len(t, s.starts, 6)
}

// TestNobodyIsLeftToSave: a replacement that fails after a signal is replaced at once when there
// are no others, and for as long as any failure is.
func TestNobodyIsLeftToSave(t *testing.T) {
	s := askedToEnd(t)
	all := []Proc{0, 1, 3, 4}
	for range 9 {
		require.Nil(t, s.end)
		for _, p := range all {
			s.kill(p)
		}
		all = all[:0]
		for p := len(s.starts) - 4; p < len(s.starts) && s.end == nil; p++ {
			s.hello(Proc(p))
			all = append(all, Proc(p))
		}
	}
	require.NotNil(t, s.end)
	require.Len(t, s.starts, 5+4*8, "nine times, as the job reports no steps")
	require.Contains(t, s.end.Report, "has failed 9 times in the same way")
}

// What is due when nobody is in a zone any more is not due for ever.
func TestReviewOfTheLastZone(t *testing.T) {
	s := four(t)
	s.do(s.r.Signal(s.now, sighup))
	s.exit(2, 1)
	require.Equal(t, s.now.Add(StopPatience), s.r.members.reviewAt)
	for _, p := range []Proc{0, 1, 3} {
		s.join(p, Join{Op: OpEnd, Verdict: &driver.Verdict{Err: "stopped"}, Step: NoStep})
	}
	s.wait(2 * StopPatience)
	require.Zero(t, s.r.members.reviewAt)
	require.Equal(t, left, s.r.members.latest[2].state)
}

// TestSignalWhileAReplacementStarts: it has not heard of the signal, but when all others have
// ended because of it there is nobody to replace one for.
func TestSignalWhileAReplacementStarts(t *testing.T) {
	for name, end := range map[string]func(s *script, p Proc){
		"the signal": func(s *script, p Proc) { s.signalled(p, sighup) },
		"an exit":    func(s *script, p Proc) { s.exit(p, 75) },
	} {
		for _, joined := range []bool{false, true} {
			t.Run(fmt.Sprint(name, joined), func(t *testing.T) {
				s := four(t)
				s.kill(2)
				s.repairAll(0, 1, policy(driver.NonShrinking, driver.Reuse), 0, 1, 3)
				s.do(s.r.Signal(s.now, sighup))
				if joined {
					end(s, 0)
					s.hello(4)
				}
				for _, p := range []Proc{0, 1, 3} {
					if s.r.members.latest[p].present() {
						end(s, p)
					}
				}
				s.kill(4) // discarded
				require.NotNil(t, s.end)
				require.Len(t, s.starts, 5)
				require.NotZero(t, s.end.Code)
			})
		}
	}
}
