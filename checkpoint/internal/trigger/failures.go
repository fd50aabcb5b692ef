package trigger

import "time"

// Failures are those that were seen, and in which time.
type Failures struct {
	Count int
	Time  time.Duration
}

// priorTime is for how long half a failure is assumed to have been seen before anything was: a failure
// a day. It fades with the failures that are seen, since nothing is known of a job's scale: some fail every
// minute.
const priorTime = 12 * time.Hour

// MTBF is the estimate from what was seen: the mean of a Gamma distribution of the rate, whose half a
// failure is the one of Jeffreys' prior.
func (f Failures) MTBF() time.Duration {
	seen := time.Duration(1 + f.Count)
	total := f.Time + priorTime/(seen*seen)
	return max(time.Duration(float64(total)/(float64(f.Count)+0.5)), time.Millisecond)
}

// Run is what the record of a run tells.
type Run struct {
	Process    string // that wrote it
	Time       time.Duration
	Ended      bool // of its own
	Recoveries int  // of its job, before it
}

// Count counts the failures between runs, oldest first: those that a job has recovered from, and jobs that
// were killed. How the last run will end is not known, nor what was before the first one.
func Count(runs []Run) (f Failures) {
	for i, r := range runs {
		f.Time += max(r.Time, 0)
		if i == 0 {
			continue
		}
		before := runs[i-1]
		switch same := r.Process == before.Process; {
		case r.Recoveries > before.Recoveries, same && r.Recoveries == before.Recoveries:
			f.Count += r.Recoveries - before.Recoveries
		default: // another job
			f.Count += r.Recoveries
			if !before.Ended {
				f.Count++
			}
		}
	}
	return f
}
