package replica

import (
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
	r.Times.Merge(other.Times)
	r.Counts.Merge(other.Counts)
	r.Rivals = other.Rivals
}

// ratio is that of a thing to its rival, in percent; false: it has none.
func (r *result) ratio(what string) (measured.Interval, bool) {
	return r.Times.Percent(what, r.Rivals[what])
}
