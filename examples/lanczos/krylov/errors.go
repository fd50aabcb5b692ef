package krylov

import "errors"

var (
	// ErrOverflow is returned when the recurrence leaves the range of float64.
	ErrOverflow = errors.New("krylov: number out of range")

	// ErrScale is returned when the entries of a matrix are so large or so
	// small that squares of them cannot be added up.
	ErrScale = errors.New("krylov: entries of the matrix are too large or too small")

	// ErrColumn is returned when a row has an entry in a column that the matrix
	// does not have.
	ErrColumn = errors.New("krylov: column out of range")
)
