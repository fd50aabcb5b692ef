package replica

import (
	"encoding/json"
	"io"
	"time"

	"github.com/craft-go/craft/internal/bench/measured"
)

// result is what the jobs of one number of copies and one placement have measured.
type result struct {
	Times  measured.Things `json:"times"` // ms
	Counts measured.Things `json:"counts"`
	// Rivals say what each thing is compared with, round by round.
	Rivals map[string]string `json:"rivals"`
}

func (r *result) add(what string, d time.Duration) {
	r.Times.Add(what, float64(d)/float64(time.Millisecond))
}

// versus adds a pair of one round.
func (r *result) versus(what string, d time.Duration, rival string, other time.Duration) {
	if r.Rivals == nil {
		r.Rivals = make(map[string]string)
	}
	r.Rivals[what] = rival
	r.add(what, d)
	r.add(rival, other)
}

// merge adds what another job has measured.
func (r *result) merge(other result) {
	for _, what := range other.Times.Order {
		for _, v := range other.Times.Of[what] {
			r.Times.Add(what, v)
		}
	}
	for _, what := range other.Counts.Order {
		for _, v := range other.Counts.Of[what] {
			r.Counts.Add(what, v)
		}
	}
	r.Rivals = other.Rivals
}

// ratio is that of a thing to its rival, in percent; false: it has none.
func (r *result) ratio(what string) (measured.Interval, bool) {
	mine, others := r.Times.Of[what], r.Times.Of[r.Rivals[what]]
	if len(mine) == 0 || len(others) == 0 {
		return measured.Interval{}, false
	}
	var ratios []float64
	for i := range min(len(mine), len(others)) {
		ratios = append(ratios, 100*mine[i]/others[i])
	}
	return measured.IntervalOf(ratios), true
}

func (r *result) write(w io.Writer) error { return json.NewEncoder(w).Encode(r) }
