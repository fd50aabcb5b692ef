package embedded

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/control"
)

// Run runs a job of n ranks as goroutines of this process, each with its own
// communicator, and returns when all of them have ended.
//
// When a body returns an error, the contexts of the others end with a *RankError
// as the cause, and Run returns it: the first one, if there are several. When a
// body panics, Run panics with a *PanicError after all have ended; when one calls
// runtime.Goexit (as testing.T's FailNow does), so does Run; in the main goroutine, whose end
// is not that of the program, Run panics instead.
func Run(ctx context.Context, n int, body func(ctx context.Context, c comm.Comm) error) error {
	return run(ctx, n, true, func(ctx context.Context, r *rank) error { return body(ctx, r.session.place.Comm) })
}

// RunSessions is Run for bodies that survive failures, and are told so by their
// session. Ranks that are started as replacements run the body too. An error of
// one body does not end the contexts of the others.
func RunSessions(ctx context.Context, n int, body func(ctx context.Context, s comm.Session) error) error {
	return run(ctx, n, false, func(ctx context.Context, r *rank) error { return body(ctx, r.session) })
}

// Faults lets the body of a rank make ranks fail.
type Faults interface {
	// Die ends this rank at once: it does not return.
	Die()
	// Kill ends the process that stands for a rank of the job's first
	// communicator now, and returns.
	Kill(r comm.Rank)
	// Replacement tells whether this rank was started in place of one that
	// failed.
	Replacement() bool
}

// RunFaulty is Run for tests of what happens when ranks fail: a rank that has
// failed does not return, and the error of its body does not count.
func RunFaulty(ctx context.Context, n int, body func(ctx context.Context, c comm.Comm, f Faults) error) error {
	return run(ctx, n, false, func(ctx context.Context, r *rank) error { return body(ctx, r.session.place.Comm, r) })
}

// RunFaultySessions is RunFaulty for bodies that survive failures, as those of
// RunSessions: ranks that are started as replacements run the body too.
func RunFaultySessions(ctx context.Context, n int, body func(ctx context.Context, s comm.Session, f Faults) error) error {
	return run(ctx, n, false, func(ctx context.Context, r *rank) error { return body(ctx, r.session, r) })
}

// rank is one rank of a job in this process.
type rank struct {
	house   *house
	session *session
}

func (r *rank) Die() {
	r.house.exit(r.session.ep.self, killed)
	runtime.Goexit()
}

func (r *rank) Kill(victim comm.Rank) {
	if p, ok := r.house.present(comm.OriginalRank(victim)); ok {
		r.house.exit(p, killed)
	}
}

func (r *rank) Replacement() bool { return r.session.place.Replacement }

var killed = control.Exit{Code: -1, Signal: 9, Why: "signal: killed"}

func run(ctx context.Context, n int, strict bool, body func(context.Context, *rank) error) error {
	h, err := newHouse(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	j := &job{cancel: cancel, strict: strict, house: h, body: body}
	h.start = func(s control.Start, e *endpoint) {
		own, stop := context.WithCancelCause(ctx)
		e.stop = stop
		j.ranks.Go(func() {
			defer stop(nil)
			j.run(own, e)
		})
	}
	var watch sync.WaitGroup
	watch.Go(func() { j.watch(ctx) })
	h.begin()
	j.ranks.Wait()
	cancel(nil)
	watch.Wait()
	return j.result()
}

// job is what the ranks leave behind.
type job struct {
	cancel context.CancelCauseFunc
	strict bool // an error of one body ends the contexts of the others
	house  *house
	body   func(context.Context, *rank) error
	ranks  sync.WaitGroup

	mu       sync.Mutex
	first    *RankError
	panicked *PanicError
	exited   bool
}

// watch ends the job when its root gives it up.
func (j *job) watch(ctx context.Context) {
	select {
	case <-j.house.over:
		if end := j.house.ended; end.Code != 0 {
			j.cancel(fmt.Errorf("%w: %s", ErrControl, end.Report))
		}
	case <-ctx.Done():
	}
}

func (j *job) result() error {
	if j.panicked != nil {
		panic(j.panicked)
	}
	if j.exited {
		if onMain() {
			panic(fmt.Errorf("%w, and main would end without the program: Go does not notice that in programs with cgo", errExit))
		}
		runtime.Goexit()
	}
	if j.first != nil {
		return j.first
	}
	select {
	case <-j.house.over:
		// 137: ranks were killed and nobody has repaired that, as in RunFaulty.
		if end := j.house.ended; end.Code != 0 && !j.strict && end.Code != 137 {
			return fmt.Errorf("%w: %s", ErrControl, end.Report)
		}
	default:
	}
	return nil
}

// run is one rank. Its end is told to the contexts first, so that the cause is
// its error and not one that follows from its absence.
func (j *job) run(ctx context.Context, e *endpoint) {
	at := comm.Rank(e.original)
	defer func() { j.house.leave(e, at) }()
	returned := false
	defer func() {
		if !returned {
			j.broken(at, e, recover())
		}
	}()
	// Each body runs, also when another one has already ended the job.
	s, err := newSession(context.WithoutCancel(ctx), e, func(context.Context) error { return nil })
	if err == nil {
		at = s.place.Comm.Rank()
		err = j.body(ctx, &rank{house: j.house, session: s})
	}
	returned = true
	if err != nil && !e.wasKilled() {
		j.fail(at, err)
	}
}

// broken is a body that has not returned: it panicked, called Goexit, or died.
func (j *job) broken(at comm.Rank, e *endpoint, value any) {
	if value == nil { // panic(nil) is not nil since Go 1.21
		if e.wasKilled() {
			return
		}
		j.mu.Lock()
		j.exited = true
		j.mu.Unlock()
		j.fail(at, errExit)
		j.cancel(errExit)
		return
	}
	p := &PanicError{Rank: at, Value: value, Stack: debug.Stack()}
	j.mu.Lock()
	if j.panicked == nil {
		j.panicked = p
	}
	j.mu.Unlock()
	j.fail(at, p)
	j.cancel(p)
}

func (e *endpoint) wasKilled() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Is(e.closed, ErrKilled)
}

func (j *job) fail(at comm.Rank, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.first == nil {
		j.first = &RankError{Rank: at, Err: err}
		if j.strict {
			j.cancel(j.first)
		}
	}
}
