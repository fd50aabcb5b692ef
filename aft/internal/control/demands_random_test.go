package control

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/testseed"
)

// TestRandomDemands: ranks that are any number of calls apart are asked to store versions and to end, by signals at
// the root, at daemons and at themselves, at any moment: while they start, in repairs, between zones, several times. All
// find the same at each call of a generation, nobody waits for ever, and where nothing fails all end at the same call.
// CRAFT_TEST_SEED replays a round, CRAFT_TEST_SECONDS says how long it runs.
func TestRandomDemands(t *testing.T) {
	rounds := randomRounds(t, func(seed uint64) { demandsRound(t, seed) })
	t.Logf("%d rounds", rounds)
}

func demandsRound(t *testing.T, seed uint64) {
	defer func() {
		if t.Failed() {
			testseed.Print(t, seed)
		}
	}()
	random := rand.New(rand.NewPCG(seed, 0))
	cfg := randomConfig(random, 6, 3)
	cfg.Grace = []time.Duration{0, 5 * time.Second, time.Minute}[random.IntN(3)]
	s := newSim(t, random, cfg)
	s.calls, s.errorEnds = true, true
	s.zones, s.between, s.tail = 1+random.IntN(3), 50*time.Millisecond, 50*time.Millisecond
	s.target = 5 + int(random.ExpFloat64()*100)
	asked := s.zones // the zone in which the end was asked for
	for range random.IntN(6) {
		end := random.IntN(3) == 0
		s.after(time.Duration(random.ExpFloat64()*float64(150*time.Millisecond)), "demand", func() {
			s.demand(end)
			if cause, _ := s.root.demands.decider.Ending(s.now); cause != demand.None {
				asked = min(asked, s.root.rendezvous.zone)
			}
		})
	}
	calm := random.IntN(3) == 0
	for range random.IntN(8) {
		if !calm {
			s.after(time.Duration(random.ExpFloat64()*float64(200*time.Millisecond)), "chaos", s.chaos)
		}
	}
	s.run(time.Hour)
	if !calm {
		return
	}
	if cause, _ := s.root.demands.decider.Ending(s.now); s.end.Code != 0 && (cause == demand.None || s.end.Code != requeueCode) {
		s.fatal("nothing has failed, and the end is %+v", *s.end)
	}
	// Who has passed all calls of a zone before the others begin, and before a message can come, has none to meet at.
	long := true
	for _, r := range s.ranks {
		long = long && r.pace*time.Duration(s.target) > time.Second
	}
	if s.end.Code == 0 && long && asked < s.zones-1 {
		s.fatal("the end was asked for in zone %d, and all ran to their own end", asked)
	}
	for _, r := range s.ranks {
		if r.original != Asleep && r.ended != (s.end.Code == requeueCode) {
			s.fatal("process %d has ended as it was asked to: %v, and the job with %d", r.proc, r.ended, s.end.Code)
		}
	}
}

// demand has somebody ask for something.
func (s *sim) demand(end bool) {
	number, d := int(syscall.SIGUSR1), demand.Demand{Source: "somebody", Left: demand.NoLimit}
	if end {
		number, d.Cause = int(syscall.SIGTERM), demand.Deadline
	}
	if end && s.random.IntN(2) == 0 {
		d.Left = time.Duration(s.random.IntN(int(time.Minute)))
	}
	running := 0
	for _, r := range s.ranks {
		if r.world != nil && !r.dead {
			running++
		}
	}
	from := s.random.IntN(5)
	s.logf("demand %v %s, from %d", end, d.Cause, from)
	switch {
	case from == 0 && running > 0: // else it would be a signal for programs that are not ready
		s.actions(s.root.Signal(s.now, number))
	case from == 1:
		for _, n := range s.nodes {
			if n.daemon != nil && !n.dead && !n.stopped && s.random.IntN(2) == 0 {
				s.daemonActions(n, n.daemon.Signalled(s.now, number))
			}
		}
	case from == 2:
		for _, p := range ranksOf(s) {
			if s.random.IntN(2) == 0 {
				p.point.Ask(d)
			}
		}
	case from == 3:
		s.actions(s.root.Ask(s.now, demand.Demand{Cause: d.Cause, Planned: true, Source: "plan", Left: time.Hour}))
	default:
		s.actions(s.root.Ask(s.now, d))
	}
}

// ranksOf are the ranks in the order of their numbers.
func ranksOf(s *sim) (list []*simRank) {
	for p := range Proc(s.root.members.started) {
		if r := s.ranks[p]; r != nil && !r.dead {
			list = append(list, r)
		}
	}
	return list
}
