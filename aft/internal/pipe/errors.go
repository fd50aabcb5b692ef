package pipe

import "errors"

var (
	// ErrRefused is returned when the other side has not proved that it belongs
	// to this job, or has refused this side's proof.
	ErrRefused = errors.New("not a process of this job")

	// ErrBroken is returned when the other side has died, or has written into
	// the shared memory what does not belong there.
	ErrBroken = errors.New("pipe broken")

	// ErrConfig is returned for a configuration that cannot be used.
	ErrConfig = errors.New("pipe configuration")

	// ErrClosed is returned by a pipe that this side has closed.
	ErrClosed = errors.New("pipe closed")
)
