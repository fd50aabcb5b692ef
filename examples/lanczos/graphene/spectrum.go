package graphene

import (
	"math"
	"slices"
)

// Lowest returns the count lowest distinct eigenvalues of the lattice without
// disorder, in ascending order, or all negative ones if there are fewer. Values
// closer to each other than width count as one.
//
// With periodic boundaries the spectrum is known: for every k = (2 pi i/NX,
// 2 pi j/NY) there are the eigenvalues +-|1 + exp(i k1) + exp(i k2)|. The minimum
// is -3, at k = 0.
func (l Lattice) Lowest(count int, width float64) []float64 {
	if count < 1 {
		return nil
	}
	cos1, sin1 := circle(l.NX)
	cos2, sin2 := circle(l.NY)
	var lowest []float64
	for j := range cos2 {
		for i := range cos1 {
			re, im := 1+cos1[i]+cos2[j], sin1[i]+sin2[j]
			e := -math.Sqrt(re*re + im*im)
			if len(lowest) < count || e < lowest[len(lowest)-1] {
				lowest = insert(lowest, e, count, width)
			}
		}
	}
	return lowest
}

// insert adds e to an ascending list of at most count values, unless it is there.
func insert(list []float64, e float64, count int, width float64) []float64 {
	place, _ := slices.BinarySearch(list, e)
	for _, near := range []int{place - 1, place} {
		if near >= 0 && near < len(list) && math.Abs(list[near]-e) <= width {
			return list
		}
	}
	list = slices.Insert(list, place, e)
	return list[:min(len(list), count)]
}

// circle is cosine and sine at n equidistant points.
func circle(n int64) (cos, sin []float64) {
	cos, sin = make([]float64, n), make([]float64, n)
	for i := range cos {
		sin[i], cos[i] = math.Sincos(2 * math.Pi * float64(i) / float64(n))
	}
	return cos, sin
}
