// Package measured says what a few measurements tell: their median, and how far it is known.
package measured

import (
	"math"
	"slices"
)

// Things are the measurements of several things, in the order of the first one of each.
type Things struct {
	Order []string
	Of    map[string][]float64
}

// Add adds a measurement of a thing.
func (t *Things) Add(what string, value float64) {
	if t.Of == nil {
		t.Of = make(map[string][]float64)
	}
	if t.Of[what] == nil {
		t.Order = append(t.Order, what)
	}
	t.Of[what] = append(t.Of[what], value)
}

// Merge adds what another job has measured of the same things.
func (t *Things) Merge(other Things) {
	for _, what := range other.Order {
		for _, v := range other.Of[what] {
			t.Add(what, v)
		}
	}
}

// Percent compares two things round by round; false: one of them was not measured.
func (t *Things) Percent(what, with string) (Interval, bool) {
	mine, others := t.Of[what], t.Of[with]
	var ratios []float64
	for i := range min(len(mine), len(others)) {
		ratios = append(ratios, 100*mine[i]/others[i])
	}
	return IntervalOf(ratios), len(ratios) > 0
}

// Interval is the median and its distribution-free 95 % interval.
type Interval struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Report adds it to what a benchmark prints.
func (i Interval) Report(b interface{ ReportMetric(n float64, unit string) }, unit string) {
	b.ReportMetric(i.Median, unit)
	b.ReportMetric(i.Low, "low-"+unit)
	b.ReportMetric(i.High, "high-"+unit)
}

// IntervalOf computes it; of no values it is zero.
func IntervalOf(values []float64) Interval {
	if len(values) == 0 {
		return Interval{}
	}
	all := slices.Sorted(slices.Values(values))
	n := float64(len(all))
	half := 0.98 * math.Sqrt(n)
	at := func(i float64) float64 { return all[max(0, min(len(all)-1, int(i)))] }
	return Interval{Median: at(n / 2), Low: at(math.Floor(n/2 - half)), High: at(math.Ceil(n/2+half) - 1)}
}
