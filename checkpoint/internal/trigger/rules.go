package trigger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rules are triggers: a version is due as soon as one of them says so. The zero Rules have none.
type Rules struct {
	Every []int         // each: iterations that it divides
	Time  time.Duration // since the last version was begun; 0: none
	Auto  bool
	MTBF  time.Duration // for Auto; 0: it is learned
}

// With are these and others.
func (r Rules) With(others Rules) Rules {
	for _, n := range others.Every {
		if !slices.Contains(r.Every, n) {
			r.Every = append(slices.Clip(r.Every), n)
		}
	}
	if r.Time == 0 || others.Time > 0 && others.Time < r.Time {
		r.Time = others.Time
	}
	r.Auto = r.Auto || others.Auto
	if others.MTBF > 0 {
		r.MTBF = others.MTBF
	}
	return r
}

// Timed reports whether any of them goes by time.
func (r Rules) Timed() bool { return r.Auto || r.Time > 0 }

// None reports whether there are none.
func (r Rules) None() bool { return !r.Timed() && len(r.Every) == 0 }

// Iteration reports whether a version is due after an iteration, whatever the time is.
func (r Rules) Iteration(iter int) bool {
	for _, n := range r.Every {
		if iter%n == 0 {
			return true
		}
	}
	return false
}

// String says what they are, in the same words on all ranks.
func (r Rules) String() string {
	var out []string
	for _, n := range slices.Sorted(slices.Values(r.Every)) {
		out = append(out, strconv.Itoa(n))
	}
	if r.Time > 0 {
		out = append(out, r.Time.String())
	}
	switch {
	case r.Auto && r.MTBF > 0:
		out = append(out, "auto, a failure every "+r.MTBF.String())
	case r.Auto:
		out = append(out, "auto")
	}
	return strings.Join(out, ", ")
}

// Parse reads 10, 10m or auto; "" are no Rules.
func Parse(text string) (Rules, error) {
	if text == "" {
		return Rules{}, nil
	}
	if text == "auto" {
		return Rules{Auto: true}, nil
	}
	if n, err := strconv.ParseUint(text, 10, 31); err == nil && n > 0 && text[0] != '0' && text[0] != '+' {
		return Rules{Every: []int{int(n)}}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return Rules{Time: d}, nil
	}
	return Rules{}, fmt.Errorf("%q is neither a number of iterations, nor a duration, nor auto", text)
}
