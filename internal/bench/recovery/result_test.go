package recovery

import (
	"time"

	"github.com/craft-go/craft/internal/bench/measured"
)

// figure is what was measured of one thing.
type figure struct {
	What string `json:"what"`
	measured.Interval
	Unit   string `json:"unit"` // us, or % of the time without a zone
	Rounds int    `json:"rounds"`
	// Rate is the bandwidth in GB/s of messages, else 0.
	Rate float64 `json:"gb_per_s,omitempty"`
}

// result collects the times of everything.
type result struct {
	Ranks   int      `json:"ranks"`
	Figures []figure `json:"figures"`

	times measured.Things // us
	bytes map[string]int  // of messages
}

func (r *result) add(what string, d time.Duration) {
	r.times.Add(what, float64(d)/float64(time.Microsecond))
}

func (r *result) summarize() {
	for _, what := range r.times.Order {
		f := figure{What: what, Interval: measured.IntervalOf(r.times.Of[what]), Unit: "us", Rounds: len(r.times.Of[what])}
		if n := r.bytes[what]; n > 0 {
			f.Rate = float64(n) / f.Median / 1000
		}
		r.Figures = append(r.Figures, f)
	}
}
