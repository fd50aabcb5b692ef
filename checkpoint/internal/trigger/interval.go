package trigger

import (
	"math"
	"time"
)

// Daly is the interval from one begin to the next that loses the least (equation 37 of Daly 2006, which is
// for the time between two versions).
func Daly(cost, mtbf time.Duration) time.Duration {
	c, m := cost.Seconds(), mtbf.Seconds()
	if c >= 2*m {
		return mtbf + cost
	}
	x := c / (2 * m)
	return seconds(math.Sqrt(2*c*m) * (1 + math.Sqrt(x)/3 + x/9))
}

func seconds(s float64) time.Duration {
	return time.Duration(min(s*float64(time.Second), math.MaxInt64/4))
}

// need is what a level costs beside those below it, and the share of the failures that need it.
type need struct {
	cost  time.Duration
	share float64
}

// intervals are those of the levels, the lowest first. None is shorter than the one before.
func intervals(levels []need, mtbf time.Duration) []time.Duration {
	type group struct {
		need
		interval time.Duration
		levels   int
	}
	var groups []group
	for _, l := range levels {
		g := group{need: l, levels: 1}
		for {
			g.interval = Daly(g.cost, seconds(mtbf.Seconds()/max(g.share, 1e-6)))
			if n := len(groups); n > 0 && groups[n-1].interval >= g.interval {
				below := groups[n-1]
				g.cost, g.share, g.levels = g.cost+below.cost, g.share+below.share, g.levels+below.levels
				groups = groups[:n-1]
				continue
			}
			break
		}
		groups = append(groups, g)
	}
	var out []time.Duration
	for _, g := range groups {
		for range g.levels {
			out = append(out, g.interval)
		}
	}
	return out
}
