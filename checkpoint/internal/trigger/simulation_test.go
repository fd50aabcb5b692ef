package trigger

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// simulation is a job whose processes fail at exponentially distributed times, and that writes when its
// schedule says so. A restart takes no time: it would be the same for all schedules.
type simulation struct {
	schedule *Schedule
	learns   bool // from its failures
	mtbf     time.Duration
	step     time.Duration
	cost     func(now time.Duration) time.Duration
	random   *rand.Rand

	now, stored, fails time.Duration
	failures           int
}

// span is the time of a number of failures, in seconds, and the work that was done in it.
type span struct{ wall, work float64 }

// waste is the time that was lost, in parts of the work.
func (s span) waste() float64 { return s.wall/s.work - 1 }

func (s *simulation) run(failures int) span {
	before := span{s.now.Seconds(), s.stored.Seconds()}
	if s.failures == 0 {
		s.goOn()
	}
	for until := s.failures + failures; s.failures < until; {
		work := s.computed()
		if work == 0 {
			continue
		}
		s.schedule.Begin(s.now)
		cost := s.cost(s.now)
		if s.pass(cost) {
			s.schedule.Ended(s.now, 0, cost, true)
			s.stored += work
		}
	}
	return span{s.now.Seconds() - before.wall, s.stored.Seconds() - before.work}
}

// computed computes until a version is due, and returns how much; 0: a failure came first.
func (s *simulation) computed() time.Duration {
	left := s.schedule.Left(s.now, s.step)
	work := s.step * time.Duration(max(1, math.Ceil(left.Seconds()/s.step.Seconds())))
	if !s.pass(work) {
		return 0
	}
	return work
}

// pass lets time pass, unless a failure comes.
func (s *simulation) pass(d time.Duration) bool {
	if s.now+d < s.fails {
		s.now += d
		return true
	}
	s.now = s.fails
	s.failures++
	s.goOn()
	return false
}

func (s *simulation) goOn() {
	s.fails = s.now + time.Duration(s.random.ExpFloat64()*float64(s.mtbf))
	s.schedule.Start(s.now)
	if s.learns {
		s.schedule.Seen(s.now, Failures{s.failures, s.now})
	}
}

// bestFixed is the waste with the best fixed interval, as Daly's model of the wall-clock time has it: half of
// the versions cost one, half the other.
func bestFixed(mtbf, one, other time.Duration) float64 {
	m := mtbf.Seconds()
	waste := func(work, cost float64) float64 { return m*math.Expm1((work+cost)/m)/work - 1 }
	best := math.Inf(1)
	for work := one.Seconds() / 10; work < 20*m; work *= 1.01 {
		// Of the time, not of the work, each regime has half.
		a, b := 1+waste(work, one.Seconds()), 1+waste(work, other.Seconds())
		best = min(best, 2/(1/a+1/b)-1)
	}
	return best
}

// simulate is a simulation of a program with steps that are short beside the interval.
func simulate(random *rand.Rand, rules Rules, mtbf, cost time.Duration) *simulation {
	return &simulation{
		schedule: NewSchedule(Config{Rules: rules, MaxLoss: time.Hour}, Learned{}), learns: rules.MTBF == 0,
		mtbf: mtbf, step: Daly(cost, mtbf) / 40, random: random,
		cost: func(time.Duration) time.Duration { return cost },
	}
}

// TestWasteWithGivenRate is the mark: within 5 % of the best fixed interval.
func TestWasteWithGivenRate(t *testing.T) {
	random := testseed.Rand(t)
	for _, mtbf := range []time.Duration{time.Minute, 24 * time.Hour} {
		for _, ratio := range []float64{0.001, 0.01, 0.05, 0.3} {
			cost := time.Duration(ratio * float64(mtbf))
			got := simulate(random, Rules{Auto: true, MTBF: mtbf}, mtbf, cost).run(4000).waste()
			best := bestFixed(mtbf, cost, cost)
			t.Logf("MTBF %v, cost %v: waste %.4f, the best fixed interval has %.4f: %+.1f %%", mtbf, cost, got, best, 100*(got/best-1))
			require.Less(t, got, 1.05*best)
		}
	}
}

// Costs that change, and some that are out of line.
func TestWasteWithChangingCosts(t *testing.T) {
	random := testseed.Rand(t)
	const mtbf, cost, factor = time.Hour, 10 * time.Second, 8
	s := simulate(random, Rules{Auto: true, MTBF: mtbf}, mtbf, cost)
	s.cost = func(now time.Duration) time.Duration {
		if now/(100*mtbf)%2 == 1 {
			return factor * cost
		}
		return cost
	}
	got, best := s.run(4000).waste(), bestFixed(mtbf, cost, factor*cost)
	t.Logf("waste %.4f, the best fixed interval has %.4f", got, best)
	require.Less(t, got, best, "it follows the costs")

	s = simulate(random, Rules{Auto: true, MTBF: mtbf}, mtbf, cost)
	hiccups := simulate(random, Rules{Time: Daly(cost, mtbf)}, mtbf, cost)
	hiccups.learns = false
	s.cost = func(time.Duration) time.Duration {
		if random.IntN(50) == 0 {
			return 40 * cost
		}
		return cost
	}
	hiccups.cost = s.cost
	got, fixed := s.run(4000).waste(), hiccups.run(12000).waste()
	t.Logf("with hiccups: waste %.4f, with the interval for the usual cost %.4f", got, fixed)
	require.Less(t, got, 1.05*fixed)
}

// TestWasteWithLearnedRate is the mark: within 15 % of the best fixed interval after 10 failures.
func TestWasteWithLearnedRate(t *testing.T) {
	random := testseed.Rand(t)
	for _, mtbf := range []time.Duration{5 * time.Minute, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour} {
		for _, ratio := range []float64{0.0005, 0.005, 0.05} {
			cost := time.Duration(ratio * float64(mtbf))
			var sum span
			for range 40 {
				s := simulate(random, Rules{Auto: true}, mtbf, cost)
				s.run(10)
				one := s.run(40)
				sum.wall, sum.work = sum.wall+one.wall, sum.work+one.work
			}
			got, best := sum.waste(), bestFixed(mtbf, cost, cost)
			t.Logf("MTBF %v, cost %v: waste %.4f, the best fixed interval has %.4f: %+.1f %%", mtbf, cost, got, best, 100*(got/best-1))
			require.Less(t, got, 1.15*best)
		}
	}
}
