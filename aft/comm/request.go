package comm

import (
	"context"
	"errors"
)

// FailedRequest is a request that could not be started: Wait returns err.
func FailedRequest(err error) Request { return failedRequest{err} }

type failedRequest struct{ err error }

func (r failedRequest) Wait(context.Context) (Status, error) { return Status{}, r.err }

// WaitAll waits for all requests and returns the first error, in the order of
// the requests. A message that does not fit (ErrTruncated) does not keep it from
// waiting for the others; any other error withdraws those that are not complete.
// No buffer is in use after it has returned. It leaves nil requests out.
func WaitAll(ctx context.Context, requests ...Request) error {
	var first error
	for i, r := range requests {
		if r == nil {
			continue
		}
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
		if r != nil {
			_, _ = r.Wait(ended)
		}
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
