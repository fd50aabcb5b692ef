package control

import "time"

// isDue reports whether the time has come that something is due at; the zero time never comes.
func isDue(now, at time.Time) bool { return !at.IsZero() && !now.Before(at) }

// earlier is the earlier of two times that something is due at; the zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
