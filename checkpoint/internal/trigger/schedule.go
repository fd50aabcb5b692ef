package trigger

import (
	"fmt"
	"math"
	"time"
)

// Level is one of several at which versions are kept.
type Level struct {
	Name  string
	Every uint64  // versions at most, until it is known what it costs
	Share float64 // of the failures that need it: which it survives, and those below it do not
	// Unseen is what a version takes at this level at least beside those below it, in versions of the lowest one. What
	// it takes from other processes, the network and a file system that is shared is not measured.
	Unseen float64
}

// Learned is what was measured, and survives a failure.
type Learned struct {
	Costs    []Costs // of versions that reach a level, and no higher one
	Failures Failures
}

// Versions is how many were measured.
func (l Learned) Versions() (n int) {
	for _, c := range l.Costs {
		n += len(c)
	}
	return n
}

// Config is what a Schedule goes by.
type Config struct {
	Rules   Rules
	Levels  []Level       // the lowest first; none: there is one
	MaxLoss time.Duration // for Auto, as long as no failure was seen
}

// Schedule says when the next version is due by time, and of which level.
type Schedule struct {
	config  Config
	learned Learned

	started  bool
	begun    time.Duration // the last version, or what takes its place
	spent    time.Duration // for that, as far as it is over
	reached  []time.Duration
	dueAt    time.Duration
	riskFrom time.Duration // with MaxLoss: at which a further step would be too much
	plan     Plan
	failed   int           // versions in a row
	tried    time.Duration // when the last one of them had failed
	lost     time.Duration
}

// NewSchedule makes one that knows what was learned before.
func NewSchedule(c Config, learned Learned) *Schedule {
	if len(c.Levels) == 0 {
		c.Levels = []Level{{Every: 1, Share: 1}}
	}
	if len(learned.Costs) != len(c.Levels) { // of another policy
		learned.Costs = make([]Costs, len(c.Levels))
	}
	return &Schedule{config: c, learned: learned, reached: make([]time.Duration, len(c.Levels))}
}

// Learned is what was measured until now.
func (s *Schedule) Learned() Learned { return s.learned }

// Started reports whether Start was called.
func (s *Schedule) Started() bool { return s.started }

// Start is called when the program goes on from what it has: nothing is at risk yet.
func (s *Schedule) Start(now time.Duration) {
	s.started = true
	for i := range s.reached {
		s.reached[i] = now
	}
	s.begun, s.spent = now, 0
	s.decide(now)
}

// Seen says which failures were seen.
func (s *Schedule) Seen(now time.Duration, f Failures) {
	s.learned.Failures = f
	s.decide(now)
}

// Adopt takes over what another process has learned.
func (s *Schedule) Adopt(now time.Duration, l Learned) {
	if len(l.Costs) == len(s.config.Levels) {
		s.learned = l
		s.decide(now)
	}
}

// Due reports whether a version is due by time; step is how long the program's steps take.
func (s *Schedule) Due(now, step time.Duration) bool { return s.Left(now, step) <= 0 }

// Left is how long it will be until a version is due by time.
func (s *Schedule) Left(now, step time.Duration) time.Duration {
	return min(s.dueAt, s.riskFrom-step) - now
}

// Interval is from one version to the next.
func (s *Schedule) Interval() time.Duration { return s.plan.Interval }

// Begin says that a version is begun, for whatever reason, and returns the highest level that it is due for.
func (s *Schedule) Begin(now time.Duration) (level int) {
	intervals := s.plan.Levels
	for i := len(intervals) - 1; i > 0 && level == 0; i-- {
		if now-s.reached[i] >= intervals[i]-intervals[0]/2 {
			level = i
		}
	}
	for i := range level + 1 {
		s.reached[i] = now
	}
	s.begun, s.spent = now, 0
	s.decide(now)
	return level
}

// Ended says what became of a version, of which level it was, and what it has cost. A next one that is
// due by time waits for a while if it has failed.
func (s *Schedule) Ended(now time.Duration, level int, cost time.Duration, ok bool) {
	if !ok {
		s.failed++
		s.lost += cost
		s.tried = now
		s.decide(now)
		return
	}
	// A failed try is part of what this version has cost.
	s.learned.Costs[level] = s.learned.Costs[level].Add(cost + s.lost)
	s.failed, s.lost = 0, 0
	s.spent = min(cost, now-s.begun)
	s.decide(now)
}

const (
	shortestPause = time.Second
	pauseShare    = 20 // the first pause, in the time that the try has taken
	longestPause  = time.Minute
)

// pause is how long nothing is tried by time after failed tries: twice as long after each, up to the interval or
// a minute, whichever is longer.
func (s *Schedule) pause() time.Duration {
	tries := min(s.failed, 30)
	first := max(shortestPause, pauseShare*s.lost/time.Duration(tries))
	return min(first<<(tries-1), max(longestPause, s.plan.Interval))
}

// decide finds the intervals anew, and when the next version is due.
func (s *Schedule) decide(now time.Duration) {
	s.plan = s.planned()
	s.dueAt, s.riskFrom = math.MaxInt64/2, math.MaxInt64/2
	if s.config.Rules.Time > 0 {
		s.dueAt = s.begun + s.config.Rules.Time
		s.plan.Interval = min(s.plan.Interval, s.config.Rules.Time)
	}
	if s.config.Rules.Auto {
		s.dueAt = min(s.dueAt, s.begun+s.spent+s.plan.Levels[0]-min(s.plan.Cost, s.plan.Levels[0]/2))
		if s.plan.Bounded {
			s.riskFrom = s.begun + max(s.config.MaxLoss-s.plan.Cost, s.config.MaxLoss/2)
		}
	}
	if s.failed > 0 && s.config.Rules.Timed() {
		// What the version was to save is still at risk: as soon as the pause allows. One that is on its
		// way, as the next one may already be, can fail as well.
		s.dueAt, s.riskFrom = max(s.tried, s.begun)+s.pause(), math.MaxInt64/2
	}
}

// Plan is how a Schedule has decided, and why.
type Plan struct {
	Interval time.Duration   // from one version to the next
	Levels   []time.Duration // the same for each level; none without Auto
	Cost     time.Duration   // of a version at the lowest level
	Samples  int             // that this is known from
	MTBF     time.Duration
	Given    bool // MTBF is; otherwise it follows from Failures
	Failures Failures
	Bounded  bool // by MaxLoss, as no failure was seen
}

// Plan is the present one.
func (s *Schedule) Plan() Plan { return s.plan }

// From says from where MTBF is known.
func (p Plan) From() string {
	switch {
	case p.Given:
		return "given"
	case p.Failures.Count == 0:
		return "assumed: no failure was seen"
	}
	return fmt.Sprintf("%d failures in %v", p.Failures.Count, p.Failures.Time.Round(time.Second))
}

// Differs reports whether the intervals are notably others than before.
func (p Plan) Differs(before Plan) bool {
	const notable = 1.25
	if len(p.Levels) != len(before.Levels) {
		return true
	}
	for i, d := range p.Levels {
		if ratio := float64(d) / float64(max(before.Levels[i], 1)); ratio > notable || ratio < 1/notable {
			return true
		}
	}
	return false
}

const (
	// probeLoss and probeMTBF are the parts of MaxLoss and of the MTBF after which the first version is
	// written, when it is not known what one costs.
	probeLoss, probeMTBF = 60, 20
	// assumedCost is what the next level is taken to cost, in versions of the lowest one, until it is known.
	assumedCost = 10
	// cheapest is the least that a version is taken to cost.
	cheapest = 100 * time.Microsecond
)

// planned is what follows from what is known.
func (s *Schedule) planned() Plan {
	if !s.config.Rules.Auto {
		return Plan{Interval: math.MaxInt64 / 2}
	}
	f := s.learned.Failures
	p := Plan{MTBF: s.config.Rules.MTBF, Failures: f, Given: s.config.Rules.MTBF > 0}
	if !p.Given {
		p.MTBF, p.Bounded = f.MTBF(), f.Count == 0
	}
	needs, known := s.needs()
	p.Cost, p.Samples = needs[0].cost, len(s.learned.Costs[0])
	p.Levels = intervals(needs[:known], p.MTBF)
	switch n := s.learned.Versions(); {
	case n == 0:
		p.Levels = []time.Duration{min(s.config.MaxLoss/probeLoss, p.MTBF/probeMTBF)}
	case n < costsKnown: // soon another one, in case they were out of line
		p.Levels[0] >>= costsKnown - n
	}
	for i := len(p.Levels); i < len(s.config.Levels); i++ {
		ratio := float64(s.config.Levels[i].Every) / float64(max(s.config.Levels[i-1].Every, 1))
		byPeriod := seconds(p.Levels[i-1].Seconds() * max(ratio, 1))
		guess := Daly(assumedCost*p.Cost, seconds(p.MTBF.Seconds()/max(s.config.Levels[i].Share, 1e-6)))
		p.Levels = append(p.Levels, max(min(byPeriod, guess), p.Levels[i-1]))
	}
	if p.Bounded {
		for i := range p.Levels {
			p.Levels[i] = min(p.Levels[i], s.config.MaxLoss)
		}
	}
	p.Interval = p.Levels[0]
	return p
}

// needs are those of the levels, the first ones of which are known.
func (s *Schedule) needs() (all []need, known int) {
	var below time.Duration
	for i, l := range s.config.Levels {
		cost := s.learned.Costs[i].Estimate()
		if i == 0 {
			if len(s.learned.Costs[0]) == 0 {
				for _, higher := range s.learned.Costs { // all of them have reached a higher one
					if cost = higher.Estimate(); cost > 0 {
						break
					}
				}
			}
			below = max(cost, cheapest)
			all = append(all, need{below, l.Share})
			known = 1
			continue
		}
		if len(s.learned.Costs[i]) > 0 && known == i {
			known = i + 1
		}
		all = append(all, need{max(cost-below, seconds(all[0].cost.Seconds()*l.Unseen)), l.Share})
		below = max(below, cost)
	}
	return all, known
}
