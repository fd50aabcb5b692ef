package embedded

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/craft-go/craft/aft/comm"
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
	status comm.Status
	err    error

	box  *mailbox // that it is queued in
	recv receive  // of a receive
	sent *message // of a send; nil: a receive
}

var _ comm.Request = (*request)(nil)

// wakes are channels of capacity 1, empty.
var wakes = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

// complete ends the request and wakes whoever waits for it.
func (r *request) complete(status comm.Status, err error) {
	r.status, r.err = status, err
	if r.state.Swap(completed) == awaited {
		r.wake <- struct{}{}
	}
}

// Wait blocks until the request has completed. If ctx ends first, the request
// is withdrawn, or, if its data is just being copied, completed.
func (r *request) Wait(ctx context.Context) (comm.Status, error) {
	if r.state.Load() == completed {
		return r.status, r.err
	}
	r.wake = wakes.Get().(chan struct{})
	if r.state.CompareAndSwap(pending, awaited) {
		if r.anySource() {
			r.box.failIfLast(r)
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			r.box.withdraw(r, comm.Withdrawn(ctx))
			<-r.wake
		}
	}
	wakes.Put(r.wake)
	return r.status, r.err
}

func (r *request) anySource() bool {
	return r.sent == nil && r.recv.source == comm.AnySource
}

// sentRequest is a send that was complete when it was started.
type sentRequest struct{}

func (sentRequest) Wait(context.Context) (comm.Status, error) { return comm.Status{}, nil }
