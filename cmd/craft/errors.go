package main

import "errors"

var (
	// errReported is returned when what went wrong was shown already.
	errReported = errors.New("reported")

	// errNoCheckpoint is returned when DIR holds no checkpoint.
	errNoCheckpoint = errors.New("no checkpoint")

	// errNoVersion is returned when the wanted version is not there.
	errNoVersion = errors.New("no such version")
)

// usageError marks an error as a mistake on the command line.
type usageError struct{ error }
