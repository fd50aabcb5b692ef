package replica

import (
	"fmt"
	"math"
	"sort"
)

// Loss is the distribution of the number of failed ranks at which data is lost irrecoverably
// (IDL), when ranks fail one after the other, each that is left equally likely, and nothing is
// repaired (paper, IV-D). It holds where the copies divide the ranks: these are groups of r then
// that hold the same, and data is lost when one has failed as a whole. Simulate is for the rest.
type Loss struct{ ranks, copies, groups int }

// NewLoss is the distribution for p ranks and r copies, of which r divides p.
func NewLoss(ranks, copies int) (Loss, error) {
	switch {
	case copies < 1 || ranks < copies:
		return Loss{}, fmt.Errorf("%w: %d copies on %d ranks: allowed are 1 to the number of ranks", ErrOptions, copies, ranks)
	case ranks%copies != 0:
		return Loss{}, fmt.Errorf("%w: the formula is for copies that divide the ranks, and %d does not divide %d: a Simulation needs that not", ErrOptions, copies, ranks)
	}
	return Loss{ranks, copies, ranks / copies}, nil
}

// By returns the probability that data is lost when f ranks have failed, or before: the paper's
// P≤(f), with a relative error of 1e-11 at most.
//
// The paper's sum of inclusion and exclusion has terms of up to exp(m) for m groups that are
// expected to have failed, so that it is good where m is small. Elsewhere it is the probability
// of no loss that is small, and has a form without cancellation (logSurvival).
func (l Loss) By(f int) float64 {
	switch {
	case f < l.copies:
		return 0
	case f > l.ranks-l.groups: // a group keeps less than one rank
		return 1
	case l.groups == 1:
		return 0
	case l.failedGroups(f) > 1:
		return -math.Expm1(l.logSurvival(f))
	}
	sum, term := 0.0, 1.0
	for j := range min(l.groups, f/l.copies) {
		// From the choices of j groups to those of j+1.
		term *= -float64(l.groups-j) / float64(j+1)
		for i := j * l.copies; i < (j+1)*l.copies && term != 0; i++ {
			term *= float64(f-i) / float64(l.ranks-i)
		}
		sum -= term
		if math.Abs(term) <= 1e-18*sum {
			break
		}
	}
	return sum
}

// At returns the probability that data is lost at failure f, and not before: the paper's P=(f).
// It is the chance that f completes a group, when the others have kept a rank each: as a
// difference of By it would have no digits left in large worlds.
func (l Loss) At(f int) float64 {
	if f < l.copies || f > l.ranks {
		return 0
	}
	completed := float64(l.copies) / float64(f) * l.failedGroups(f)
	others, before := Loss{l.ranks - l.copies, l.copies, l.groups - 1}, f-l.copies
	switch {
	case before > others.ranks-others.groups:
		return 0
	case others.groups > 1 && others.failedGroups(before) > 1:
		return completed * math.Exp(others.logSurvival(before))
	}
	return completed * (1 - others.By(before))
}

// Mean returns the expected number of failures until a loss. If each rank fails at a time
// that is uniform in [0,1], that of the loss is beyond t with the probability (1-t^r)^g, and
// failure f is expected at f/(p+1), whichever ranks have failed: the paper's sum over all f is
// (p+1) times the integral of that.
func (l Loss) Mean() float64 { return float64(l.ranks+1) * l.timeMoment(1) }

// StandardDeviation returns that of the number of failures until a loss.
func (l Loss) StandardDeviation() float64 {
	p, mean := float64(l.ranks), l.Mean()
	return math.Sqrt(max(0, (p+1)*(p+2)*l.timeMoment(2)-mean*(mean+1)))
}

// Quantile returns the smallest number of failures by which data is lost with a probability
// of at least u.
func (l Loss) Quantile(u float64) int {
	return sort.Search(l.ranks, func(f int) bool { return l.By(f) >= u })
}

// failedGroups returns how many groups are expected to have failed when f ranks have.
func (l Loss) failedGroups(f int) float64 {
	m := float64(l.groups)
	for i := 0; i < l.copies && m != 0; i++ {
		m *= float64(f-i) / float64(l.ranks-i)
	}
	return m
}

// timeMoment returns the expectation of the n-th power of the time of the loss: the integral of
// n t^(n-1) (1-t^r)^g over [0,1], which is the product of j/(j+n/r) for j up to g.
func (l Loss) timeMoment(n int) float64 {
	product, a := 1.0, float64(n)/float64(l.copies)
	for j := 1; j <= l.groups; j++ {
		product *= float64(j) / (float64(j) + a)
	}
	return product
}
