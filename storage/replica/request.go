package replica

import (
	"context"
	"sync"
)

// Request is an operation that goes on without its caller. What was given to it must not change
// before it has ended.
type Request struct {
	done chan struct{}
	err  error
}

// Done is closed when the operation has ended.
func (r *Request) Done() <-chan struct{} { return r.done }

// Wait waits for the end of the operation and returns its error. If ctx ends first it returns why,
// and the operation goes on: it ends with its own context.
func (r *Request) Wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	default:
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// line has the operations of a store run one after the other, in the order in which they were
// started, which is the same on all ranks.
type line struct {
	mu     sync.Mutex
	last   chan struct{} // closed when the last one has ended; nil: there was none
	work   sync.WaitGroup
	ctx    context.Context
	cancel context.CancelCauseFunc
	number uint64 // of operations on the present communicator
}

// open lets operations run.
func (l *line) open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	l.last, l.number = nil, 0
}

// shut ends those that run, with why, and waits for them.
func (l *line) shut(why error) {
	l.mu.Lock()
	if l.cancel != nil {
		l.cancel(why)
	}
	l.mu.Unlock()
	l.work.Wait()
}

// start runs one when those before it have ended. Its context ends with that of the caller and
// with the line.
func (l *line) start(ctx context.Context, run func(ctx context.Context, number uint64) error) *Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Request{done: make(chan struct{})}
	before, number, lineCtx := l.last, l.number, l.ctx
	l.last = r.done
	l.number++
	l.work.Go(func() {
		defer close(r.done)
		if before != nil {
			<-before
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(lineCtx, func() { cancel(context.Cause(lineCtx)) })()
		r.err = run(ctx, number)
	})
	return r
}
