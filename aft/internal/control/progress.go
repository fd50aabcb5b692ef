package control

import "math"

// NoStep is less than every step that a program reports: it has reported none.
const NoStep = math.MinInt64

// progress is how far the job is: each zone counts its own steps, and the end of
// a zone is progress too.
type progress struct {
	zone int
	step int64 // NoStep: none was reported in this zone
}

// reach notes a report, which may be an old one.
func (p *progress) reach(zone int, step int64) {
	switch {
	case zone > p.zone:
		*p = progress{zone, step}
	case zone == p.zone:
		p.step = max(p.step, step)
	}
}
