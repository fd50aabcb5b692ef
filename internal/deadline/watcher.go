package deadline

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// closeTimeout is how long a question may take to end once its time is over. What does not, hangs
// in the operating system.
const closeTimeout = 2 * time.Second

// tolerance is by how much two times may differ that are the same: programs that print the time
// left print whole seconds.
const tolerance = 2 * time.Second

// Watcher asks sources again and again, and tells the earliest deadline.
type Watcher struct {
	sources []source
	found   func(Deadline)
	log     *slog.Logger

	// What is left from one Run to the next.
	known []known
	told  answer
}

// known is what a source has said.
type known struct {
	answer
	next   time.Time // when it is asked again; zero: now
	ended  bool      // it need not be asked again
	warned bool
}

// NewWatcher returns a watcher of the sources of the scopes, which Run makes work. It calls found
// for the first deadline, and whenever the earliest one of all sources is another: earlier, later
// (by 2 seconds or more), or gone (None). Found is called by Run, once at a time; it should return
// soon, since nothing else is told meanwhile.
func NewWatcher(c Config, found func(Deadline), scopes ...Scope) *Watcher {
	w := &Watcher{sources: c.sources(scopes), found: found}
	w.LogTo(c.Log)
	return w
}

// LogTo is another Config.Log, from the next Run on.
func (w *Watcher) LogTo(log *slog.Logger) {
	if w.log = log; log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
}

// Idle reports whether there is nothing to ask, and Run would do nothing.
func (w *Watcher) Idle() bool { return len(w.sources) == 0 }

// Run asks until the context is done, or there is nothing to be asked again. It returns within
// seconds of the former, whatever a source does. It may be called again then: it goes on with what is known, and
// asks each source when its time has come, as if it had not ended meanwhile.
func (w *Watcher) Run(ctx context.Context) {
	type said struct {
		source int
		answer
	}
	if w.known == nil {
		w.known = make([]known, len(w.sources))
	}
	answers, ended := make(chan said), make(chan struct{})
	var asking sync.WaitGroup
	last := make([]answer, len(w.sources))
	for i, s := range w.sources {
		last[i] = w.known[i].answer
		asking.Go(func() {
			w.watch(ctx, s, &w.known[i], func(a answer) {
				select {
				case answers <- said{i, a}:
				case <-ctx.Done():
				}
			})
		})
	}
	go func() {
		asking.Wait()
		close(ended)
	}()
	w.told = w.tell(ctx, earliest(last), w.told)
	for {
		select {
		case <-ended:
			return
		case s := <-answers:
			last[s.source] = s.answer
			w.told = w.tell(ctx, earliest(last), w.told)
		}
	}
}

// tell calls found if the deadline is another than the one told before, and returns what is told.
func (w *Watcher) tell(ctx context.Context, now, told answer) answer {
	same := now.at.IsZero() == told.at.IsZero() && now.at.Sub(told.at).Abs() < tolerance
	switch {
	case same || ctx.Err() != nil:
		return told
	case now.at.IsZero():
		w.found(Deadline{})
	default:
		w.found(Deadline{Left: time.Until(now.at), Source: now.by, Unsaid: now.unsaid, Notice: now.notice})
	}
	return now
}

func earliest(known []answer) (first answer) {
	for _, a := range known {
		if !a.at.IsZero() && (first.at.IsZero() || a.at.Before(first.at)) {
			first = a
		}
	}
	return first
}

// watch asks one source until the context is done.
func (w *Watcher) watch(ctx context.Context, s source, k *known, told func(answer)) {
	warn := func(err error) {
		if !k.warned {
			w.log.Warn("a source of the deadline cannot be asked as it should; what it has said stays", "source", s.name, "error", err)
		}
		k.warned = true
	}
	for !k.ended {
		if !await(ctx, k.next) {
			return
		}
		k.next = time.Now().Add(min(s.every, nearInterval)) // if it is interrupted
		a, err := s.once(ctx, warn)
		if a != nil {
			k.answer = *a
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			warn(err)
		}
		if a != nil {
			told(k.answer)
		}
		if k.ended = s.every == 0; !k.ended {
			k.next = time.Now().Add(s.pause(k.answer))
		}
	}
}

// await waits until a time, and reports whether that has come before the context was done.
func await(ctx context.Context, until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// pause is how long a source is not asked. When the end that it has told comes near, a source that
// is asked seldom is asked more often: a limit may be made longer at the last minute.
func (s source) pause(known answer) time.Duration {
	pause := s.every
	if left := time.Until(known.at); !known.at.IsZero() && left > 0 {
		pause = min(pause, max(left/2, nearInterval))
	}
	return pause + rand.N(pause/10) // jobs that were started together ask their cluster at different times
}

// once asks and waits for the answer. A question that does not end when its time is over is waited
// for, since it may be answered yet; but not when the context is done.
func (s source) once(ctx context.Context, warn func(error)) (*answer, error) {
	type result struct {
		answer *answer
		err    error
	}
	asking, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	answered := make(chan result, 1)
	go func() {
		a, err := s.ask(asking)
		answered <- result{a, err}
	}()
	overdue := time.NewTimer(s.timeout + closeTimeout)
	defer overdue.Stop()
	for {
		select {
		case r := <-answered:
			return r.answer, r.err
		case <-overdue.C:
			warn(fmt.Errorf("it has not answered for %v, and cannot be interrupted", s.timeout+closeTimeout))
		case <-ctx.Done():
			select { // a command is killed meanwhile
			case r := <-answered:
				return r.answer, ctx.Err() // as what is known without it
			case <-time.After(closeTimeout):
			}
			return nil, ctx.Err()
		}
	}
}
