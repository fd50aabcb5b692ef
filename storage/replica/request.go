package replica

import "context"

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
