package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/craft-go/craft/examples/internal/measured"
)

// figure is what was measured of one thing, in microseconds.
type figure struct {
	What   string  `json:"what"`
	Median float64 `json:"median_us"`
	Min    float64 `json:"min_us"`
	Max    float64 `json:"max_us"`
	Rounds int     `json:"rounds"`
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

func (r *result) write(w io.Writer, asJSON bool) error {
	for _, what := range r.times.Order {
		all := slices.Sorted(slices.Values(r.times.Of[what]))
		f := figure{What: what, Median: all[len(all)/2], Min: all[0], Max: all[len(all)-1], Rounds: len(all)}
		if n := r.bytes[what]; n > 0 {
			f.Rate = float64(n) / f.Median / 1000
		}
		r.Figures = append(r.Figures, f)
	}
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%d ranks\n", r.Ranks)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "what\tmedian us\tmin\tmax\tGB/s\t")
	for _, f := range r.Figures {
		rate := ""
		if f.Rate > 0 {
			rate = fmt.Sprintf("%.2f", f.Rate)
		}
		fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\t%s\t\n", f.What, f.Median, f.Min, f.Max, rate)
	}
	return t.Flush()
}
