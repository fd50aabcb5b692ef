package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// The errors of operations, which programs get as those of package comm.
var (
	ErrProcFailed  = errors.New("process failed")                     // a process is no longer there: see FailedError
	ErrRevoked     = errors.New("communicator revoked")               // by one of its ranks
	ErrTruncated   = errors.New("length mismatch")                    // a message does not fit the buffer: see TruncatedError
	ErrClosed      = errors.New("communicator closed")                // by Free, by the end of this rank's part, or by the return of the other one's body
	ErrUnsupported = errors.New("not supported by this communicator") // a single process cannot be replaced, for example
	ErrFenced      = errors.New("this process has lost its lease")    // others may have declared it dead, because it was not heard of
)

// FailedError names the processes that an operation would have needed. It matches
// ErrProcFailed.
type FailedError struct {
	Ranks []int // ascending, in the communicator of the operation
}

// Error names the ranks.
func (e *FailedError) Error() string {
	var b strings.Builder
	b.WriteString(ErrProcFailed.Error())
	before := ": rank "
	for _, r := range e.Ranks {
		fmt.Fprintf(&b, "%s%d", before, r)
		before = ", "
	}
	return b.String()
}

// Is makes errors.Is(err, ErrProcFailed) true.
func (e *FailedError) Is(target error) bool { return target == ErrProcFailed }

// TruncatedError says which message did not fit. It matches ErrTruncated.
type TruncatedError struct {
	Status Status // of the message, which has been consumed
	Buffer int    // length of the receive buffer in bytes
}

// Error names sender, tag and both lengths.
func (e *TruncatedError) Error() string {
	return fmt.Sprintf("%v: message of %d bytes from rank %d with tag %d, buffer of %d bytes",
		ErrTruncated, e.Status.Bytes, e.Status.Source, e.Status.Tag, e.Buffer)
}

// Is makes errors.Is(err, ErrTruncated) true.
func (e *TruncatedError) Is(target error) bool { return target == ErrTruncated }

// WithdrawnError is returned by Wait when its context ended first. It matches
// the context's error (context.Canceled, context.DeadlineExceeded) and the cause
// of the cancellation.
type WithdrawnError struct {
	Err   error // of the context
	Cause error // context.Cause of the context
}

// Error gives the cause.
func (e *WithdrawnError) Error() string { return "operation withdrawn: " + e.Cause.Error() }

// Unwrap gives both errors.
func (e *WithdrawnError) Unwrap() []error { return []error{e.Err, e.Cause} }

// Withdrawn is the error of an operation that was given up because ctx ended.
func Withdrawn(ctx context.Context) error {
	return &WithdrawnError{Err: ctx.Err(), Cause: context.Cause(ctx)}
}
