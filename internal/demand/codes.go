package demand

// The exit codes of what has ended as it was asked to.
const (
	ExitRequeue   = 75  // EX_TEMPFAIL: go on later; a site may want another one
	ExitHalted    = 76  // do not go on by itself
	ExitInterrupt = 130 // Ctrl-C
)

// MayRequeue reports whether a site may have a code for what is to go on later: it means nothing else.
func MayRequeue(code int) bool {
	return code >= 2 && code <= 255 && code != ExitHalted && code != ExitInterrupt
}

// ExitCode is that of what has ended for this cause; requeue is the site's code for what is to go on later.
func (c Cause) ExitCode(requeue int) int {
	switch c {
	case Halt:
		return ExitHalted
	case Interrupt:
		return ExitInterrupt
	case Deadline:
		return requeue
	}
	return 0
}

// EndError is that of what is not done any more, since the job was asked to end.
type EndError struct {
	Cause Cause
	Text  string // for people
	Err   error  // what it is, too
}

// Error is the text.
func (e *EndError) Error() string { return e.Text }

// Unwrap gives Err.
func (e *EndError) Unwrap() error { return e.Err }

// Elsewhere: the launcher says it, for all ranks that are told so.
func (e *EndError) Elsewhere() bool { return true }

// JobCode is the exit code of a job out of those of its ranks. What no demand explains wins, the largest of it. Else it is
// what the job is to do next, where ranks do not agree on that: a halt counts whatever else has asked for the end, then
// an interrupt, and a job of which a rank is to go on later is not done.
func JobCode(requeue int, codes ...int) (job int) {
	weight := func(code int) int {
		switch code {
		case 0:
			return 0
		case ExitRequeue:
			return 1
		case requeue:
			return 2
		case ExitInterrupt:
			return 3
		case ExitHalted:
			return 4
		}
		return 5 + code
	}
	for _, code := range codes {
		if weight(code) > weight(job) {
			job = code
		}
	}
	return job
}
