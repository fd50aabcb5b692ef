package control

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/internal/testseed"
)

// TestRandomSignals: several zones one after the other, with signals that ranks ignore, die
// of, or end because of some time later, and exits between zones. Everything ends, nobody
// waits for what never comes, no zone ends well without the body of a member, a policy that replaces
// all keeps the size, a job whose ranks all end as a signal asks for has nobody started again, and
// one whose ranks save because of a signal ends.
// CRAFT_TEST_SEED replays a round, CRAFT_TEST_SECONDS says how long it runs.
func TestRandomSignals(t *testing.T) {
	rounds := randomRounds(t, func(seed uint64) { signalsRound(t, seed) })
	t.Logf("%d rounds", rounds)
}

func signalsRound(t *testing.T, seed uint64) {
	defer func() {
		if t.Failed() {
			testseed.Print(t, seed)
		}
	}()
	random := rand.New(rand.NewPCG(seed, 0))
	s := newSim(t, random, randomConfig(random, 6, 3))
	oneOf := func(list ...time.Duration) time.Duration { return list[random.IntN(len(list))] }
	s.zones, s.errorEnds = 1+random.IntN(4), random.IntN(2) == 0
	s.between = oneOf(5*time.Millisecond, 3*time.Second, 9*time.Second)
	s.tail = oneOf(5*time.Millisecond, 5*time.Second, 200*time.Second)
	s.pace = oneOf(5*time.Millisecond, 200*time.Millisecond, 2*time.Second)
	switch random.IntN(6) {
	case 0, 1:
		s.allStop()
		return
	case 2:
		s.allSave()
		return
	}
	s.exitsBetween = random.IntN(2) == 0
	for len(s.reactions) == 0 {
		s.reactions = slices.DeleteFunc([]string{ignores, dies, exits, endsBody}, func(string) bool { return random.IntN(2) == 0 })
	}
	signals := []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1}
	some := func(mean time.Duration, what string, do func()) {
		for range random.IntN(4) {
			s.after(time.Duration(random.ExpFloat64()*float64(mean)), what, do)
		}
	}
	some(15*time.Second, "signal", func() { s.actions(s.root.Signal(s.now, int(signals[random.IntN(len(signals))]))) })
	some(10*time.Second, "chaos", s.chaos)
	some(20*time.Second, "broken pipe", func() { s.actions(s.root.Unread(s.now)) })
	s.run(time.Hour)
}

// allSave is a round in which ranks save because of a signal and wait for the others, of whom
// some end while they save, or are killed, as may those who replace them.
func (s *sim) allSave() {
	s.zones, s.computes, s.errorEnds = 1, true, false
	s.reactions = []string{saves, saves, exits, dies}
	asked := time.Second + time.Duration(s.random.IntN(int(20*time.Second)))
	s.after(asked, "signal", func() { s.actions(s.root.Signal(s.now, int(syscall.SIGTERM))) })
	for range s.random.IntN(4) {
		s.after(asked+time.Duration(s.random.IntN(int(3*StopPatience))), "kill", func() {
			if r := s.ranks[Proc(s.random.IntN(len(s.ranks)))]; !r.hung {
				r.die(Exit{Proc: r.proc, Code: -1, Signal: sigkill})
			}
		})
	}
	s.run(asked + StopHolds + s.tail)
}

// allStop is a round in which all ranks end as they are asked to, perhaps while some that
// have failed are being replaced.
func (s *sim) allStop() {
	var asked, last time.Time // last: of the disturbances
	started, disturbed := 0, s.random.IntN(2) == 0
	if disturbed {
		for range 1 + s.random.IntN(3) {
			s.after(time.Duration(s.random.ExpFloat64()*float64(10*time.Second)), "chaos", func() {
				last = s.now
				s.chaos()
			})
		}
	}
	s.reactions = []string{dies, exits, exits}
	s.after(time.Second+time.Duration(s.random.ExpFloat64()*float64(20*time.Second)), "signal", func() {
		asked, started = s.now, s.root.members.started
		s.actions(s.root.Signal(s.now, int(syscall.SIGTERM)))
	})
	s.run(time.Hour)
	if asked.IsZero() {
		return
	}
	if last.Before(asked) {
		last = asked
	}
	took := s.now.Sub(last)
	if disturbed {
		// One that was started later, and whose bodies are all shorter than missedDelay, does
		// not hear of the signal: it comes to its end by itself.
		if took > 3*StopPatience+s.tail {
			s.fatal("the job took %v to end", took)
		}
		return
	}
	if n := s.root.members.started - started; n > 0 {
		s.fatal("%d were started after the signal", n)
	}
	if took > exitsWithin+time.Second {
		s.fatal("the job took %v to end", took)
	}
}

// What ranks do about a signal.
const (
	ignores  = "ignores it"
	dies     = "dies of it"
	exits    = "exits soon"
	endsBody = "ends its body with an error"
	saves    = "saves, and ends its body"

	exitsWithin = 25 * time.Second
)

// signal is a forwarded one.
func (r *simRank) signal(number int) {
	s := r.s
	reaction := s.reactions[s.random.IntN(len(s.reactions))]
	if s.computes && int(r.proc) >= 2*s.cfg.Size {
		reaction = saves // so that the round ends before the request is old
	}
	s.logf("process %d gets signal %d, and %s", r.proc, number, reaction)
	switch reaction {
	case dies:
		r.die(Exit{Proc: r.proc, Code: -1, Signal: number, Step: NoStep})
	case exits:
		s.after(time.Duration(s.random.IntN(int(exitsWithin))), "handler", func() {
			if !r.hung {
				r.die(Exit{Proc: r.proc, Code: s.random.IntN(3), Step: NoStep, Zone: r.zone})
			}
		})
	case endsBody:
		r.asked = true
	case saves:
		s.after(time.Duration(s.random.IntN(int(exitsWithin))), "saved", func() {
			r.saved = true
			r.wake()
		})
	}
}
