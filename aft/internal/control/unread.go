package control

import (
	"fmt"
	"log/slog"
	"syscall"
	"time"
)

// unreadGrace is how long output that nobody reads waits for a signal: what ends the reader
// (Ctrl-C, scancel, a closed terminal) mostly goes to the launcher too, perhaps a moment later.
const unreadGrace = time.Second

// unreadPatience is for how long ranks that were asked to end may print what nobody reads.
// They may be saving, and nobody sees that they get on; they must not print for ever.
const unreadPatience = 5 * time.Minute

// unread is what follows from output whose reader has gone.
type unread struct {
	due   time.Time // to be decided about; zero: nothing is
	asked time.Time // when the ranks were asked to end because of it
}

// Unread tells that output of ranks has no reader any more: a pipe is broken. Without a job a
// program would die of that. The ranks are asked to end, so that they can save what they have,
// unless they were already; those that go on printing to nobody are killed in the end.
func (r *Root) Unread(now time.Time) []Action {
	switch {
	case r.out.ended || r.stops.lately(now):
	case !r.unread.asked.IsZero():
		r.out.end(1, fmt.Sprintf("killed: nobody reads the output of the ranks (broken pipe), and they still print, though they were asked to end %v ago", now.Sub(r.unread.asked).Round(time.Second)))
	case r.unread.due.IsZero():
		r.unread.due = now.Add(unreadGrace)
	}
	return r.out.take()
}

func (r *Root) tickUnread(now time.Time) {
	if !isDue(now, r.unread.due) {
		return
	}
	r.unread.due = time.Time{}
	if r.stops.lately(now) {
		return
	}
	r.unread.asked = now
	r.out.note(slog.LevelWarn, "nobody reads the output of the ranks any more (broken pipe): they are asked to end by SIGTERM, and killed if they still print when the patience is over",
		"patience", unreadPatience)
	r.signal(now, int(syscall.SIGTERM), "the launcher, whose output nobody reads")
}

// Unheard tells of a job that has ended and whose output had no reader any more that nothing
// else has asked it to end.
func (r *Root) Unheard() bool { return !r.unread.asked.IsZero() || !r.stops.ever() }
