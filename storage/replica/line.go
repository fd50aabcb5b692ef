package replica

import (
	"context"
	"sync"

	"github.com/craft-go/craft/aft/comm"
)

// line has the operations of a store run one after the other, in the order in which they were
// started, which is the same on all ranks.
type line struct {
	mu      sync.Mutex
	binding binding
	number  uint64          // of operations since it was opened
	last    <-chan struct{} // closed when the last one has ended
	work    sync.WaitGroup
	ctx     context.Context
	cancel  context.CancelCauseFunc
	why     error // none begins any more; nil: they do
}

// binding is what operations use: what was made by one call of Open.
type binding struct {
	comm *comm.Comm // the store's own
	from *comm.Comm // that Open was given
}

// open lets operations run.
func (l *line) open(b binding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	none := make(chan struct{})
	close(none)
	l.binding, l.number, l.last, l.why = b, 0, none, nil
}

// shut ends those that run, with why, and waits for them. None begins until it is opened.
func (l *line) shut(why error) {
	l.mu.Lock()
	l.why = why
	if l.cancel != nil {
		l.cancel(why)
	}
	l.mu.Unlock()
	l.work.Wait()
}

// stop lets none begin any more: one has ended early, which other ranks may have carried out.
func (l *line) stop(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why = why
	}
}

// stopped is why none begins; nil: they do.
func (l *line) stopped() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// start runs one when those before it have ended. Its context ends with that of the caller and
// with the line.
func (l *line) start(ctx context.Context, run func(ctx context.Context, b binding, number uint64) error) *Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Request{done: make(chan struct{})}
	if l.why != nil {
		r.err = l.why
		close(r.done)
		return r
	}
	before, b, number, lineCtx := l.last, l.binding, l.number, l.ctx
	l.last = r.done
	l.number++
	l.work.Go(func() {
		defer close(r.done)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(lineCtx, func() { cancel(context.Cause(lineCtx)) })()
		select {
		case <-before:
		case <-ctx.Done():
			l.stop(ErrUnbound)
			r.err = context.Cause(ctx)
			return
		}
		if r.err = l.stopped(); r.err == nil {
			r.err = run(ctx, b, number)
		}
	})
	return r
}

// watch ends an operation when a rank has failed, because all need all, or when one has had the
// communicator revoked, which has given the store up.
func (b binding) watch(cancel context.CancelCauseFunc) (stop func()) {
	over := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		select {
		case <-b.comm.FailureKnown():
			cancel(&comm.FailedError{Ranks: b.comm.Failed()})
		case <-b.from.Revoked():
			cancel(comm.ErrRevoked)
		case <-over:
		}
	})
	return func() {
		close(over)
		work.Wait()
	}
}
