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
}

// NewWatcher returns a watcher of the sources of the scopes, which Run makes work. It calls found
// for the first deadline, and whenever the earliest one of all sources is another: earlier, later
// (by 2 seconds or more), or gone (None). Found is called by Run, once at a time; it should return
// soon, since nothing else is told meanwhile.
func NewWatcher(c Config, found func(Deadline), scopes ...Scope) *Watcher {
	w := &Watcher{sources: c.sources(scopes), found: found, log: c.Log}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	return w
}

// Idle reports whether there is nothing to ask, and Run would do nothing.
func (w *Watcher) Idle() bool { return len(w.sources) == 0 }

// Run asks until the context is done, or there is nothing to be asked again. It returns within
// seconds of the former, whatever a source does.
func (w *Watcher) Run(ctx context.Context) {
	type said struct {
		source int
		answer
	}
	answers, ended := make(chan said), make(chan struct{})
	var asking sync.WaitGroup
	for i, s := range w.sources {
		asking.Go(func() {
			w.watch(ctx, s, func(a answer) {
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
	known := make([]answer, len(w.sources))
	var told answer
	for {
		select {
		case <-ended:
			return
		case s := <-answers:
			known[s.source] = s.answer
			told = w.tell(ctx, earliest(known), told)
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
func (w *Watcher) watch(ctx context.Context, s source, told func(answer)) {
	var known answer
	warned := false
	warn := func(err error) {
		if !warned {
			w.log.Warn("a source of the deadline cannot be asked as it should; what it has said stays", "source", s.name, "error", err)
		}
		warned = true
	}
	for {
		a, err := s.once(ctx, warn)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			warn(err)
		}
		if a != nil {
			known = *a
			told(known)
		}
		if s.every == 0 {
			return
		}
		timer := time.NewTimer(s.pause(known))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
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
			case <-answered:
			case <-time.After(closeTimeout):
			}
			return nil, ctx.Err()
		}
	}
}
