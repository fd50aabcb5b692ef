package embedded

import (
	"errors"
	"fmt"
)

// ErrSize is returned when a job is to have less than one rank.
var ErrSize = errors.New("number of ranks must be at least 1")

// ErrControl is returned when the root of the job refuses an operation, or cannot
// be reached any more.
var ErrControl = errors.New("control of the job")

// ErrKilled is the cause for which the context of a rank ends that a test has
// killed.
var ErrKilled = errors.New("rank was killed")

// ErrUnreachable is returned by operations that need a process which is alive, but
// which this one has not been able to connect to: a lack of its own (open files,
// ports), a name that leads elsewhere, a firewall. The error names the addresses.
var ErrUnreachable = errors.New("no connection to a process that is alive")

// errExit is the RankError of a body that ended its goroutine, as testing.T's
// FailNow does.
var errExit = errors.New("body called runtime.Goexit")

// RankError is the error of one rank's body. It is what Run returns, and the
// cause for which the contexts of the other ranks end.
type RankError struct {
	Rank int
	Err  error
}

func (e *RankError) Error() string { return fmt.Sprintf("rank %d: %v", e.Rank, e.Err) }

func (e *RankError) Unwrap() error { return e.Err }

// PanicError is what Run panics with after a body has panicked.
type PanicError struct {
	Rank  int
	Value any    // of the body's panic
	Stack []byte // of the body's goroutine
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("panic in rank %d: %v\n\n%s", e.Rank, e.Value, e.Stack)
}

// Unwrap is the panic's value if it is an error, else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
