package checkpoint

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// For the last version of a job there is no next call that would make up for a write that fails: of all that was computed since the
// version before nothing would be left, because a file system was not itself for a moment, or because its directory, which the
// next write makes again, was deleted. So there are several tries.

// lastTries is how many: with levels those ranks that have never written to the parallel file system leave it to another one to make the
// directory again, and may come before it.
const lastTries = 3

// lastPause is before the last try, at most: the one before comes at once, since most that passes has passed by then, and what a file
// server needs to come back takes longer than all three do.
const lastPause = time.Second

// storeLast writes the last version of a job that is to end, brings it home, and makes the milestones that have waited for that. written is what has failed
// of the former, and flushed of the rest. After an error of the communicator nothing more is done.
func storeLast(ctx context.Context, m *meetings, write func(context.Context) error) (written, flushed error) {
	number := m.line.attempt.last
	saved := func() bool { return m.line.attempt.newest.Version > number }
	for try := 1; ; try++ {
		if !saved() {
			written = write(ctx)
		}
		if commFailed(written) || ctx.Err() != nil {
			return written, nil
		}
		limited, done := m.point.Patience(ctx)
		flushed = m.bringHome(ctx, limited)
		again := false
		if !commFailed(flushed) && ctx.Err() == nil {
			failed := flushed
			if !saved() {
				failed = errors.Join(written, flushed)
			} else if flushed == nil && m.root() { // also what was in memory alone is in files now
				m.line.attempt.written = m.line.attempt.newest.Version
			}
			var err error
			if again, err = tryLastAgain(ctx, m, try, failed); err != nil {
				flushed = errors.Join(flushed, err)
			} else if !again {
				flushed = errors.Join(flushed, landLast(ctx, limited, m))
			}
		}
		done()
		if !again {
			return written, flushed
		}
	}
}

// tryLastAgain reports whether what has failed of the last version is worth another try: it may succeed then, and there is time for it. It is collective.
func tryLastAgain(ctx context.Context, m *meetings, try int, failed error) (again bool, err error) {
	if m.root() && try < lastTries && mayPass(failed) {
		spare := func() time.Duration { return timeLeft(m) - 2*m.needs().Cost }
		if again = spare() > 0; again {
			m.log.Warn("the last version is not stored as it is to be, and is tried again", "error", failed)
			if try == lastTries-1 {
				pauseBeforeLast(ctx, m, min(lastPause, spare()/2))
				again = spare() > 0
			}
		}
	}
	return fromRoot(ctx, m.core, again, nil)
}

// pauseBeforeLast waits, for a tenth of what is left at most: the end may be asked for meanwhile, or its deadline come nearer.
func pauseBeforeLast(ctx context.Context, m *meetings, pause time.Duration) {
	ctx, stop := context.WithTimeout(ctx, pause)
	defer stop()
	limited, done := m.point.Pause(ctx)
	defer done()
	<-limited.Done()
}

// timeLeft is how long the job has: without limit where nobody has asked for its end, or craft halt has, which names no deadline.
func timeLeft(m *meetings) time.Duration {
	if end := lastEnd(m, nil); end != nil && !end.Deadline.IsZero() {
		return end.Remains(time.Now())
	}
	return math.MaxInt64
}

// lasting is what another try meets, too.
var lasting = []error{
	ErrGuard, ErrDisagree, ErrChanged, ErrKey, ErrRanks, ErrState, ErrArgument, ErrFingerprint, demand.ErrTimeOver,
	storage.ErrLocked, storage.ErrLockLost, cptypes.ErrMismatch, cptypes.ErrShared, comm.ErrFenced,
}

// mayPass reports whether an error of a write may be over by now.
func mayPass(err error) bool {
	switch {
	case errors.Is(err, storage.ErrVanished): // whatever the version before, whose lock went with it, has met
		return true
	case err == nil || vfs.IsFull(err): // what can be deleted was deleted
		return false
	}
	for _, one := range lasting {
		if errors.Is(err, one) {
			return false
		}
	}
	return true
}
