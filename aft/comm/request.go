package comm

import (
	"context"
	"errors"

	"github.com/craft-go/craft/aft/comm/driver"
)

// Request is a send or receive under way. The zero Request is none: it has completed.
type Request struct {
	driver driver.Request
	err    error // why it could not be started
}

// Wait blocks until the operation has completed or ctx is done; then the
// operation is withdrawn. Once Wait has returned, the buffer is free. It is called at
// most once.
func (r Request) Wait(ctx context.Context) (Status, error) {
	if r.driver == nil {
		return Status{}, r.err
	}
	st, err := r.driver.Wait(ctx)
	return Status{Source: Rank(st.Source), Tag: Tag(st.Tag), Bytes: st.Bytes}, typed(err)
}

// IsZero reports whether there is no request.
func (r Request) IsZero() bool { return r == Request{} }

// WaitAll waits for all requests and returns the first error, in the order of
// the requests. A message that does not fit (ErrTruncated) does not keep it from
// waiting for the others; any other error withdraws those that are not complete.
// No buffer is in use after it has returned.
func WaitAll(ctx context.Context, requests ...Request) error {
	var first error
	for i, r := range requests {
		_, err := r.Wait(ctx)
		if err == nil {
			continue
		}
		if first == nil {
			first = err
		}
		if !errors.Is(err, ErrTruncated) {
			withdraw(requests[i+1:]...)
			return first
		}
	}
	return first
}

var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// withdraw gives up what has not completed.
func withdraw(requests ...Request) {
	for _, r := range requests {
		_, _ = r.Wait(ended)
	}
}

// waitBoth waits for receives and then sends; after an error, none is in use.
func waitBoth(ctx context.Context, recvs, sends []Request) error {
	err := WaitAll(ctx, recvs...)
	if err != nil && !isLength(err) {
		withdraw(sends...)
		return err
	}
	if sendErr := WaitAll(ctx, sends...); err == nil {
		err = sendErr
	}
	return err
}
