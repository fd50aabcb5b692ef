package matrixmarket

import (
	"errors"
	"fmt"
)

var (
	// ErrSyntax is returned when a file does not follow the format.
	ErrSyntax = errors.New("not a valid Matrix Market file")

	// ErrUnsupported is returned for matrices that are valid but not real and
	// stored by coordinates.
	ErrUnsupported = errors.New("not supported")

	// ErrNotSymmetric is returned when a matrix is not square or not symmetric.
	ErrNotSymmetric = errors.New("not symmetric")

	// ErrTooLarge is returned when a matrix has more rows than this reader
	// handles, or far more rows than entries.
	ErrTooLarge = errors.New("too large")
)

// LineError says where in a file the error is. Lines count from 1.
type LineError struct {
	Line int64
	Err  error
}

// Error gives the line and the error.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap gives the error.
func (e *LineError) Unwrap() error { return e.Err }
