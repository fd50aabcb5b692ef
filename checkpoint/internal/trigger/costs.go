package trigger

import (
	"slices"
	"time"
)

const (
	// costsKept is how many costs count: few, because they change as the data grows.
	costsKept = 12
	// outlier is how many times the median a cost counts at most.
	outlier = 4
	// costsKnown is how many it takes until they are believed.
	costsKnown = 3
)

// Costs are those of the last versions of one kind. One that is out of line, as the first write to a
// cold disk or a hiccup of the file system, has little to say.
type Costs []time.Duration

// Add appends the cost of another version.
func (c Costs) Add(cost time.Duration) Costs {
	c = append(c, max(cost, 0))
	if len(c) > costsKept {
		c = slices.Clone(c[len(c)-costsKept:])
	}
	return c
}

// Estimate is what the next version is expected to cost: the mean, on which the waste depends, with what is
// out of line cut off. Of two costs the lower one counts.
func (c Costs) Estimate() time.Duration {
	if len(c) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(c))
	if len(c) < costsKnown {
		return sorted[0]
	}
	limit := outlier * sorted[(len(sorted)-1)/2]
	var sum time.Duration
	for _, cost := range sorted {
		sum += min(cost, limit)
	}
	return sum / time.Duration(len(sorted))
}
