package embedded

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm/driver"
)

// The states of a request. The last step is made by whoever took it out of the
// matcher, exactly once.
const (
	pending int32 = iota
	awaited       // Wait sleeps on wake
	completed
)

// request is a receive, or a send whose data has not been copied yet.
type request struct {
	state  atomic.Int32
	wake   chan struct{}
	status driver.Status
	err    error

	box  *mailbox  // of a receive and of a send in this process: where it is queued; of others: the sender's
	peer int       // whom it needs; of a receive from any source, once it is known
	recv receive   // of a receive
	sent *message  // of a send in this process
	from *mailbox  // of a send, the sender's
	out  *outgoing // of a send to another process

	// Of a receive of an announced message; the endpoint's lock guards them.
	in     inbound
	giveUp error
}

var _ driver.Request = (*request)(nil)

// complete ends the request and wakes whoever waits for it.
func (r *request) complete(status driver.Status, err error) {
	r.status, r.err = status, err
	if r.state.Swap(completed) == awaited {
		r.wake <- struct{}{}
	}
}

// done reports whether the request has completed.
func (r *request) done() bool { return r.state.Load() == completed }

// failedError is the error of an operation whose peer has failed.
func (r *request) failedError() error { return errFailed(r.peer) }

// Wait blocks until the request has completed. If ctx ends first, the request
// is withdrawn, or, if its data is just being copied, completed.
func (r *request) Wait(ctx context.Context) (driver.Status, error) {
	status, err := r.wait(ctx)
	var failed *driver.FailedError
	if err != nil && errors.As(err, &failed) { // it may have ended before anybody was told
		if why := cmp.Or(r.from, r.box).toBeKnown(ctx, failed.Ranks[0]); why != nil {
			return driver.Status{}, why
		}
	}
	return status, err
}

func (r *request) wait(ctx context.Context) (driver.Status, error) {
	if r.done() {
		return r.status, r.err
	}
	if w := r.box.ep.wire; w != nil && ctx.Err() == nil && w.spin(ctx, r) {
		return r.status, r.err
	}
	r.wake = r.box.ep.wakes.Get().(chan struct{})
	if r.state.CompareAndSwap(pending, awaited) {
		if r.recv.source == driver.AnySource { // of sends it is 0
			r.box.failIfLast(r)
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			r.box.withdraw(r, driver.Withdrawn(ctx))
			<-r.wake
		}
	}
	r.box.ep.wakes.Put(r.wake)
	return r.status, r.err
}

// sentRequest is a send that was complete when it was started.
type sentRequest struct{}

func (sentRequest) Wait(context.Context) (driver.Status, error) { return driver.Status{}, nil }
