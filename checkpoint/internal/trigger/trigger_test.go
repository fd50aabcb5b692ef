package trigger

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{"": "", "1": "1", "10": "10", "10m": "10m0s", "1.5s": "1.5s", "auto": "auto"} {
		r, err := Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, r.String())
		require.Equal(t, text == "", r.None())
	}
	for _, text := range []string{"0", "-1", "+1", "01", "-10m", "0s", "Auto", "auto ", "10 m", "99999999999"} {
		_, err := Parse(text)
		require.Error(t, err, text)
	}
}

func TestRules(t *testing.T) {
	r := Rules{Every: []int{10}}.With(Rules{Every: []int{4}}).With(Rules{Time: time.Hour}).With(Rules{Time: time.Minute}).With(Rules{Every: []int{10}})
	require.Equal(t, Rules{Every: []int{10, 4}, Time: time.Minute}, r)
	require.Equal(t, "4, 10, 1m0s", r.String())
	for iter, want := range map[int]bool{0: true, 4: true, 10: true, 5: false, -8: true, -3: false} {
		require.Equal(t, want, r.Iteration(iter), iter)
	}
	auto := r.With(Rules{Auto: true, MTBF: time.Hour}).With(Rules{Auto: true})
	require.Equal(t, "4, 10, 1m0s, auto, a failure every 1h0m0s", auto.String())
	require.True(t, auto.Timed())
	require.False(t, Rules{Every: []int{1}}.Timed())
}

// Values of equations 37 and 20 of Daly's paper, computed by hand.
func TestDaly(t *testing.T) {
	for _, c := range []struct{ cost, mtbf, want time.Duration }{
		{5 * time.Minute, 24 * time.Hour, 7247 * time.Second}, // 7200 * (1 + 0.0139 + 0.0002) - 300, and the version
		{0, time.Hour, 0},
		{2 * time.Hour, time.Hour, 3 * time.Hour},
		{3 * time.Hour, time.Hour, 4 * time.Hour},
	} {
		require.InDelta(t, c.want.Seconds(), Daly(c.cost, c.mtbf).Seconds(), 60, "%+v", c)
	}
}

func TestCosts(t *testing.T) {
	of := func(costs ...float64) (c Costs) {
		for _, s := range costs {
			c = c.Add(seconds(s))
		}
		return c
	}
	for name, c := range map[string]struct {
		costs Costs
		want  float64
	}{
		"none":             {nil, 0},
		"slow first write": {of(100, 1), 1},
		"two like that":    {of(100, 1, 1), 2}, // 1 + 1 + 4
		"hiccup":           {of(1, 1, 1, 1000, 1, 1, 1, 1, 1, 1, 1), 14. / 11},
		"growing":          {of(1, 1, 1, 1, 1, 1, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8), 8},
		"two kinds":        {of(1, 3, 1, 3), 2},
		"negative":         {of(-1, -1, -1), 0},
	} {
		require.InDelta(t, c.want, c.costs.Estimate().Seconds(), 1e-6, name)
		require.LessOrEqual(t, len(c.costs), costsKept)
	}
}

func TestCountFailures(t *testing.T) {
	killed, ended := false, true
	run := func(process string, ended bool, recoveries int) Run {
		return Run{process, time.Hour, ended, recoveries}
	}
	for name, c := range map[string]struct {
		runs []Run
		want int
	}{
		"nothing":                   {nil, 0},
		"the first one":             {[]Run{run("a", killed, 0)}, 0},
		"ended, and once more":      {[]Run{run("a", ended, 0), run("b", killed, 0)}, 0},
		"killed, and once more":     {[]Run{run("a", killed, 0), run("b", killed, 0)}, 1},
		"killed twice":              {[]Run{run("a", killed, 0), run("b", killed, 0), run("c", killed, 0)}, 2},
		"recovered":                 {[]Run{run("a", ended, 0), run("a", ended, 1), run("a", ended, 3)}, 3},
		"with another rank 0":       {[]Run{run("a", killed, 0), run("b", ended, 1), run("c", killed, 2)}, 2},
		"and killed":                {[]Run{run("a", ended, 0), run("a", killed, 1), run("b", killed, 0)}, 2},
		"a job after recoveries":    {[]Run{run("a", ended, 2), run("b", ended, 2)}, 2},
		"of one job, made anew":     {[]Run{run("a", ended, 2), run("a", ended, 2), run("a", ended, 2)}, 0},
		"before what is remembered": {[]Run{run("a", ended, 7), run("a", ended, 8)}, 1},
	} {
		got := Count(c.runs)
		require.Equal(t, Failures{c.want, time.Duration(len(c.runs)) * time.Hour}, got, name)
	}
}

// Few failures say little, and many all.
func TestMTBF(t *testing.T) {
	require.Equal(t, 24*time.Hour, Failures{}.MTBF())
	require.Equal(t, 48*time.Hour, Failures{0, 12 * time.Hour}.MTBF())
	require.Less(t, Failures{1, time.Minute}.MTBF(), 24*time.Hour)
	require.Greater(t, Failures{1, time.Minute}.MTBF(), time.Hour, "one alone may be bad luck")
	for _, m := range []time.Duration{time.Minute, time.Hour, 1000 * time.Hour} {
		require.InEpsilon(t, m.Seconds(), Failures{10, 10 * m}.MTBF().Seconds(), 0.6, m)
		require.InEpsilon(t, m.Seconds(), Failures{1000, 1000 * m}.MTBF().Seconds(), 0.01, m)
	}
}

// loss is what several levels lose, to the first order.
func loss(levels []need, t []time.Duration, mtbf time.Duration) (sum float64) {
	for i, l := range levels {
		sum += l.cost.Seconds()/t[i].Seconds() + l.share*t[i].Seconds()/(2*mtbf.Seconds())
	}
	return sum
}

// No other intervals, in their order, lose less.
func TestIntervalsOfLevels(t *testing.T) {
	const mtbf = 2 * time.Hour
	for _, levels := range [][]need{
		{{time.Second, 1}},
		{{time.Second, 0.4}, {2 * time.Second, 0.45}, {30 * time.Second, 0.15}},
		{{10 * time.Second, 0.1}, {time.Second, 0.9}}, // the higher one would be the more frequent one
		{{time.Second, 0.5}, {time.Second, 0.01}, {time.Second, 0.49}},
	} {
		got := intervals(levels, mtbf)
		least := loss(levels, got, mtbf)
		require.IsNonDecreasing(t, got)
		for i := range got {
			for _, factor := range []float64{0.8, 1.25} {
				other := append([]time.Duration{}, got...)
				for j := range other {
					same := other[j] == got[i]
					if factor < 1 && same && j <= i || factor > 1 && same && j >= i {
						other[j] = seconds(got[j].Seconds() * factor)
					}
				}
				for j := range other[1:] {
					if other[j+1] < other[j] {
						other = nil
						break
					}
				}
				if other != nil {
					require.Greater(t, loss(levels, other, mtbf), 0.999*least, "%v: %v and %v", levels, got, other)
				}
			}
		}
	}
}

// Without a failure never more than MaxLoss is at risk: from one begin to the end of the next version.
func TestMaxLoss(t *testing.T) {
	for _, cost := range []time.Duration{time.Second, 10 * time.Minute} {
		s := NewSchedule(Config{Rules: Rules{Auto: true}, MaxLoss: time.Hour}, Learned{})
		const step = time.Minute
		now, begun := time.Duration(0), time.Duration(0)
		s.Start(now)
		for now < 50*time.Hour {
			now += step
			s.Seen(now, Failures{Time: now})
			if !s.Due(now, step) {
				continue
			}
			require.LessOrEqual(t, now+cost-begun, time.Hour+step/2)
			begun = now
			s.Begin(now)
			now += cost
			s.Ended(now, 0, cost, true)
		}
		require.Equal(t, begun, s.begun)
		plan := s.Plan()
		require.True(t, plan.Bounded)
		require.Contains(t, plan.From(), "no failure")
		s.Seen(now, Failures{1, 100000 * time.Hour})
		require.False(t, s.Plan().Bounded)
		if cost > time.Minute {
			require.Greater(t, s.Interval(), time.Hour, "now it knows")
		}
	}
}

// The first versions come soon: what the first one has cost says little.
func TestFirstVersions(t *testing.T) {
	s := NewSchedule(Config{Rules: Rules{Auto: true, MTBF: 24 * time.Hour}, MaxLoss: time.Hour}, Learned{})
	s.Start(0)
	require.InDelta(t, time.Minute, s.Left(0, 0), float64(time.Millisecond))
	usual := Daly(time.Second, 24*time.Hour)
	now := time.Minute
	for _, cost := range []time.Duration{100 * time.Second, time.Second, time.Second, time.Second, time.Second, time.Second} {
		s.Begin(now)
		now += cost
		s.Ended(now, 0, cost, true)
		require.LessOrEqual(t, s.Left(now, 0), 3*usual)
		now += s.Left(now, 0)
	}
	require.InEpsilon(t, usual.Seconds(), s.Interval().Seconds(), 0.25)
}

func TestPauses(t *testing.T) {
	s := NewSchedule(Config{Rules: Rules{Time: 10 * time.Minute}, MaxLoss: time.Hour}, Learned{})
	s.Start(0)
	now := 10 * time.Minute
	require.True(t, s.Due(now, 0))
	var pauses []time.Duration
	for range 12 {
		s.Begin(now)
		now += 100 * time.Millisecond
		s.Ended(now, 0, 100*time.Millisecond, false)
		pauses = append(pauses, s.Left(now, 0))
		now += pauses[len(pauses)-1]
		require.True(t, s.Due(now, 0))
	}
	require.IsNonDecreasing(t, pauses)
	require.Equal(t, 2*time.Second, pauses[0])
	require.Equal(t, 10*time.Minute, pauses[11])
	s.Begin(now)
	s.Ended(now, 0, time.Second, true)
	require.Equal(t, 10*time.Minute, s.Left(now, 0))
}

// Each level has its interval; one version serves all that are due.
func TestLevelsOfVersions(t *testing.T) {
	levels := []Level{{"local", 1, 0.4, 0}, {"partner", 4, 0.45, 1}, {"pfs", 10, 0.15, 10}}
	s := NewSchedule(Config{Rules: Rules{Auto: true, MTBF: 10 * time.Hour}, Levels: levels, MaxLoss: time.Hour}, Learned{})
	cost := []time.Duration{time.Second, 5 * time.Second, 100 * time.Second}
	var count [3]int
	now, until := time.Duration(0), 200*time.Hour
	s.Start(now)
	for now < until {
		now += max(s.Left(now, 0), time.Second)
		level := s.Begin(now)
		for i := range level + 1 {
			count[i]++
		}
		now += cost[level]
		s.Ended(now, level, cost[level], true)
	}
	plan := s.Plan()
	for i, d := range plan.Levels {
		require.InEpsilon(t, until.Seconds()/d.Seconds(), count[i], 0.25, "level %d every %v", i, d)
	}
	require.InEpsilon(t, Daly(time.Second, 25*time.Hour).Seconds(), plan.Levels[0].Seconds(), 0.05)
	require.InEpsilon(t, Daly(95*time.Second, 10*time.Hour*100/15).Seconds(), plan.Levels[2].Seconds(), 0.05)
}

func TestPlanDiffers(t *testing.T) {
	of := func(d ...time.Duration) Plan { return Plan{Levels: d} }
	require.False(t, of(100, 200).Differs(of(110, 190)))
	require.True(t, of(100, 200).Differs(of(100, 300)))
	require.True(t, of(100).Differs(Plan{}))
}

// What was learned goes on with another schedule, and from one process to another.
func TestLearned(t *testing.T) {
	c := Config{Rules: Rules{Auto: true}, MaxLoss: time.Hour}
	s := NewSchedule(c, Learned{})
	s.Start(0)
	for range 5 {
		s.Begin(0)
		s.Ended(0, 0, 9*time.Second, true)
	}
	require.Equal(t, 5, s.Learned().Versions())
	other := NewSchedule(c, Learned{})
	other.Adopt(0, s.Learned())
	require.Equal(t, s.Interval(), other.Interval())
	other.Adopt(0, Learned{Costs: make([]Costs, 2)})
	require.Equal(t, s.Interval(), other.Interval(), "of another policy")
	other = NewSchedule(c, s.Learned())
	other.Start(0)
	require.Equal(t, s.Interval(), other.Interval())
}

func TestNextMeeting(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, c := range []struct {
		left, interval, step, ask time.Duration
		want                      int
	}{
		{600 * s, 600 * s, 10 * ms, ms / 10, 600},  // a hundredth of the interval
		{3 * s, 600 * s, 10 * ms, ms / 10, 300},    // what is left of it
		{600 * s, 600 * s, 10 * ms, 50 * ms, 5000}, // not more than a thousandth of the run
		{600 * s, 600 * s, 1000 * s, ms, 1},
		{0, 600 * s, s, ms, 1},
		{-s, 600 * s, s, ms, 1},
		{600 * s, 600 * s, 0, ms, math.MaxInt32},
		{math.MaxInt64 / 2, math.MaxInt64 / 2, 1, ms, math.MaxInt32},
		{1500 * ms, 600 * s, s, ms, 2},
	} {
		require.Equal(t, c.want, NextMeeting(c.left, c.interval, c.step, c.ask), "%+v", c)
	}
}
