package main

import (
	"math"
	"slices"
)

// interval is the median and its distribution-free 95 % interval.
type interval struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func intervalOf(values []float64) interval {
	all := slices.Sorted(slices.Values(values))
	n := float64(len(all))
	half := 0.98 * math.Sqrt(n)
	at := func(i float64) float64 { return all[max(0, min(len(all)-1, int(i)))] }
	return interval{Median: at(n / 2), Low: at(math.Floor(n/2 - half)), High: at(math.Ceil(n/2+half) - 1)}
}
