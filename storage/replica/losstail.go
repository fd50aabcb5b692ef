package replica

import "math"

// logSurvival returns the logarithm of the probability that each group keeps a rank when
// f have failed, for a number of failures by which a loss is likely: 1 < failedGroups(f).
//
// Let each rank survive with probability a, independently. The number of survivors is
// binomial, and given that number all sets of survivors are equally likely: what is sought is
//
//	P(no group is lost) P(s survivors | no group is lost) / P(s survivors)
//
// for s = p-f and any a. All three are positive, and none is small if a is such that s is the
// expectation of the second.
func (l Loss) logSurvival(f int) float64 {
	p, r, g := float64(l.ranks), float64(l.copies), float64(l.groups)
	s := l.ranks - f
	if s == l.groups { // one of each
		return g*math.Log(r) - logChoose(l.ranks, l.groups)
	}
	odds := l.survivalOdds(float64(s) / g)
	kept := math.Log1p(-math.Exp(-r * math.Log1p(odds))) // that a group keeps a rank
	if odds*r < 0.5 {
		kept = math.Log(-math.Expm1(-r * math.Log1p(odds)))
	}
	// The binomial probability at s is that at its own expectation, with the relative
	// entropy of both chances of survival. Their difference is taken where it has more digits.
	survive, fail := float64(s)/p, float64(f)/p
	difference := 1/(1+odds) - fail
	if s < f {
		difference = survive - odds/(1+odds)
	}
	entropy := p * (survive*math.Log1p(difference*(1+odds)/odds) + fail*math.Log1p(-difference*(1+odds)))
	return g*kept + math.Log(sumProbability(l.survivors(odds), l.groups, s)) -
		math.Log(sumProbability(lattice{0, []float64{fail, survive}}, l.ranks, s)) + entropy
}

// survivalOdds returns a/(1-a) of the chance of survival a at which a group that keeps a rank is
// expected to keep mean ranks, by bisection of its logarithm.
func (l Loss) survivalOdds(mean float64) float64 {
	low, high := -50.0, 50.0
	for range 60 {
		middle := (low + high) / 2
		odds := math.Exp(middle)
		if expected := float64(l.copies) * odds / (1 + odds) / -math.Expm1(-float64(l.copies)*math.Log1p(odds)); expected < mean {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp(low)
}

// lattice is a distribution on whole numbers from least.
type lattice struct {
	least   int
	weights []float64
}

// survivors is how many ranks a group keeps that keeps one, without what is beyond reach. Where
// a loss is likely that is short: a large group has few survivors.
func (l Loss) survivors(odds float64) lattice {
	weights, weight, total := []float64{}, float64(l.copies), 0.0
	for j := 1; j <= l.copies; j++ {
		weights, total = append(weights, weight), total+weight
		next := weight * odds * float64(l.copies-j) / float64(j+1)
		if next < weight && next < 1e-40*total {
			break
		}
		weight = next
	}
	for i := range weights {
		weights[i] /= total
	}
	return lattice{1, weights}
}

// sumProbability returns the probability that n draws of d add up to sum, which is about their
// expectation. It is the integral over a period of the characteristic function, by the
// trapezoidal rule: that has no error but the probabilities of sums that are a multiple
// of the number of points away, and few of its points are not zero.
func sumProbability(d lattice, n, sum int) float64 {
	mean := float64(sum)/float64(n) - float64(d.least)
	var variance, adjacent float64
	for k, w := range d.weights {
		variance += w * (float64(k) - mean) * (float64(k) - mean)
		if k > 0 {
			adjacent += w * d.weights[k-1]
		}
	}
	// By Bernstein's inequality sums that are so far away have probabilities of exp(-60).
	width := 20 * float64(len(d.weights)-1)
	points := math.Ceil(min(width+math.Sqrt(width*width+120*float64(n)*variance), float64(n)*float64(len(d.weights)-1)+1))
	total := 1.0
	for j := 1.0; 2*j <= points; j++ {
		t := 2 * math.Pi * j / points
		// Neighbours alone bound the modulus, by exp(-50) here and by less further out.
		if sine := math.Sin(t / 2); 2*float64(n)*adjacent*sine*sine > 50 {
			break
		}
		var re, im float64 // of the characteristic function, less 1
		for k, w := range d.weights {
			x := t * (float64(k) - mean)
			sine := math.Sin(x / 2)
			re -= 2 * w * sine * sine
			im += w * math.Sin(x)
		}
		value := math.Exp(float64(n)/2*math.Log1p(2*re+re*re+im*im)) * math.Cos(float64(n)*math.Atan2(im, 1+re))
		if 2*j < points { // and the conjugate
			value *= 2
		}
		total += value
	}
	return total / points
}

// logChoose returns the logarithm of the number of ways to choose k of n.
func logChoose(n, k int) float64 {
	all, _ := math.Lgamma(float64(n + 1))
	chosen, _ := math.Lgamma(float64(k + 1))
	rest, _ := math.Lgamma(float64(n - k + 1))
	return all - chosen - rest
}
