package comm

import "time"

// Named is a communicator of a job that has a name: random, the same for all
// its processes, and not used by another job.
type Named interface {
	JobName() string
}

// Recoverer is a communicator that knows what has become of its job.
type Recoverer interface {
	// Recovered is the number of repairs of the job before this communicator
	// was made, and how long this process has waited for those it was in
	// (OH_rec).
	Recovered() (repairs int, total time.Duration)
}

// RecoveryCounter is a session that is told after each repair how long its
// process has waited for it, so that its communicators are Recoverers.
type RecoveryCounter interface {
	CountRecovery(d time.Duration)
}

// JobName is the name of the job that c belongs to; "" if it has none.
func JobName(c Comm) string {
	if n, ok := c.(Named); ok {
		return n.JobName()
	}
	return ""
}

// Recovered tells of the repairs of c's job: see Recoverer.
func Recovered(c Comm) (repairs int, total time.Duration) {
	if r, ok := c.(Recoverer); ok {
		return r.Recovered()
	}
	return 0, 0
}
