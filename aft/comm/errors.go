package comm

import (
	"context"
	"errors"

	"github.com/craft-go/craft/aft/comm/driver"
)

var (
	// ErrProcFailed is returned when an operation needs a process that is no
	// longer there. The ranks are in a FailedError.
	ErrProcFailed = driver.ErrProcFailed

	// ErrRevoked is returned by every operation of a communicator that one of
	// its ranks has revoked, also by those that were under way.
	ErrRevoked = driver.ErrRevoked

	// ErrTruncated is returned when a message does not fit the buffer or the
	// element type it is received with, and by a collective whose arguments do
	// not fit each other or whose ranks gave different lengths.
	ErrTruncated = driver.ErrTruncated

	// ErrRank is returned when a rank is not one of the communicator.
	ErrRank = errors.New("rank out of range")

	// ErrTag is returned when a program uses a negative tag, other than AnyTag
	// to receive.
	ErrTag = errors.New("tag out of range")

	// ErrClosed is returned when a rank uses its communicator after its part of
	// the job has ended or after Free, and by a receive from a rank whose body in the
	// zone has returned.
	ErrClosed = driver.ErrClosed

	// ErrUnsupported is returned when a communicator's engine cannot do what was
	// asked of it: a single process cannot be replaced, for example.
	ErrUnsupported = driver.ErrUnsupported

	// ErrFenced is returned to a process that the others may have declared dead
	// because it was not heard of: it must not publish anything any more.
	ErrFenced = driver.ErrFenced
)

// FailedError names the processes that an operation would have needed. It
// matches ErrProcFailed.
type FailedError struct {
	// Ranks are in ascending order, in the communicator of the operation.
	Ranks []Rank

	cause error // the engine's
}

// Error names the ranks.
func (e *FailedError) Error() string {
	if e.cause != nil {
		return e.cause.Error()
	}
	d := &driver.FailedError{}
	for _, r := range e.Ranks {
		d.Ranks = append(d.Ranks, int(r))
	}
	return d.Error()
}

// Is makes errors.Is(err, ErrProcFailed) true.
func (e *FailedError) Is(target error) bool { return target == ErrProcFailed }

// Unwrap is the engine's error.
func (e *FailedError) Unwrap() error { return e.cause }

// TruncatedError says which message did not fit. It matches ErrTruncated.
type TruncatedError struct {
	Status Status // of the message, which has been consumed
	Buffer int    // length of the receive buffer in bytes
}

// Error names sender, tag and both lengths.
func (e *TruncatedError) Error() string {
	st := driver.Status{Source: int(e.Status.Source), Tag: int(e.Status.Tag), Bytes: e.Status.Bytes}
	return (&driver.TruncatedError{Status: st, Buffer: e.Buffer}).Error()
}

// Is makes errors.Is(err, ErrTruncated) true.
func (e *TruncatedError) Is(target error) bool { return target == ErrTruncated }

// WithdrawnError is returned by Wait when its context ended first. It matches
// the context's error (context.Canceled, context.DeadlineExceeded) and the cause
// of the cancellation.
type WithdrawnError = driver.WithdrawnError

// Withdrawn is the error of an operation that was given up because ctx ended.
func Withdrawn(ctx context.Context) error { return driver.Withdrawn(ctx) }

// typed gives the ranks in an error of an engine their type.
func typed(err error) error {
	if err == nil {
		return nil
	}
	var failed *driver.FailedError
	if errors.As(err, &failed) {
		return &FailedError{Ranks: ranks(failed.Ranks), cause: err}
	}
	if t, ok := err.(*driver.TruncatedError); ok {
		return &TruncatedError{
			Status: Status{Source: Rank(t.Status.Source), Tag: Tag(t.Status.Tag), Bytes: t.Status.Bytes},
			Buffer: t.Buffer,
		}
	}
	return err
}

func ranks(list []int) []Rank {
	var out []Rank
	for _, r := range list {
		out = append(out, Rank(r))
	}
	return out
}
