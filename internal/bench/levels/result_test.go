package levels

import (
	"strings"
	"time"

	"github.com/craft-go/craft/internal/bench/measured"
)

// figure is what was measured of one thing.
type figure struct {
	What   string            `json:"what"`
	Millis measured.Interval `json:"ms"`
	Rounds int               `json:"rounds"`
	// ToLocal and ToPlain are times within a round in percent of those of the
	// level local and of the plain write of as many bytes, or of files copied.
	ToLocal *measured.Interval `json:"percent_of_local,omitempty"`
	ToPlain *measured.Interval `json:"percent_of_plain,omitempty"`
	// Bytes is what rank 0 has written to its own file, the median.
	Bytes int64 `json:"bytes,omitempty"`
}

// result collects the times of everything.
type result struct {
	Ranks   int      `json:"ranks"`
	Nodes   int      `json:"nodes"`
	Size    int64    `json:"bytes_per_rank"` // on average
	Async   string   `json:"async"`
	Sync    string   `json:"sync"`
	Figures []figure `json:"figures"`

	times measured.Things // ms
	sizes measured.Things
}

func (r *result) describe(j *job) {
	r.Ranks, r.Nodes, r.Size = j.c.Size(), j.nodes.count, j.size
	r.Async, r.Sync = string(j.async), string(j.sync)
}

func (r *result) add(what string, d time.Duration) {
	r.times.Add(what, float64(d)/float64(time.Millisecond))
}

// percent compares two things round by round.
func (r *result) percent(what, with string) *measured.Interval {
	p, ok := r.times.Percent(what, with)
	if !ok || what == with || len(r.times.Of[what]) != len(r.times.Of[with]) {
		return nil
	}
	return &p
}

func (r *result) summarize() {
	for _, what := range r.times.Order {
		times := r.times.Of[what]
		f := figure{What: what, Millis: measured.IntervalOf(times), Rounds: len(times), Bytes: int64(measured.IntervalOf(r.sizes.Of[what]).Median)}
		if !strings.Contains(what, ",") {
			f.ToLocal = r.percent(what, "local")
			f.ToPlain = r.percent(what, "plain, bytes of "+what)
		}
		if strings.HasPrefix(what, "rebuild of files") {
			f.ToPlain = r.percent(what, "copy of a node's files")
		}
		r.Figures = append(r.Figures, f)
	}
}
