package main

import "errors"

var (
	// errUsage is returned for a command line that cannot be meant.
	errUsage = errors.New("usage")

	// errReported is returned when what went wrong was shown already.
	errReported = errors.New("reported")

	// errNoCheckpoint is returned when DIR holds no checkpoint.
	errNoCheckpoint = errors.New("no checkpoint")

	// errNoVersion is returned when the wanted version is not there.
	errNoVersion = errors.New("no such version")

	// errHeld is returned when a lock belongs to a job that seems to be alive.
	errHeld = errors.New("the lock is in use")
)

// usageError marks an error as a mistake on the command line.
type usageError struct{ err error }

func (e *usageError) Error() string        { return e.err.Error() }
func (e *usageError) Unwrap() error        { return e.err }
func (e *usageError) Is(target error) bool { return target == errUsage }
