package aft

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

var (
	// ErrRecovering is the cause for which a body's context ends when recovery
	// has started.
	ErrRecovering = errors.New("a process has failed or the communicator was revoked: recovery has started")

	// ErrArgument is returned for an argument or option that cannot be meant.
	ErrArgument = errors.New("invalid argument")

	// ErrStuck is returned by Run when the body of a rank that is a goroutine does not end in a
	// roll-back: nobody can end it, and the job has to do without. A process is replaced.
	ErrStuck = errors.New("the body did not end when it was rolled back")

	// ErrEndless is returned by Run when repair follows upon repair although no
	// process has failed: the program itself revokes its communicator each time.
	ErrEndless = errors.New("repaired again and again although no process has failed")
)

// Everywhere is an error that all ranks return together, having agreed on it: checkpoint.ErrDeadline is one.
// A body that returns it needs not fear that another rank waits for this one, and Run returns on each
// rank what its own body has returned.
type Everywhere interface {
	error
	Everywhere() bool
}

func everywhere(err error) bool {
	var e Everywhere
	return errors.As(err, &e) && e.Everywhere()
}

// toldElsewhere reports whether all that is in an error has happened on other ranks, which return it themselves.
func toldElsewhere(err error) bool {
	switch e := err.(type) {
	case interface{ Elsewhere() bool }:
		return e.Elsewhere()
	case interface{ Unwrap() []error }:
		list := e.Unwrap()
		return len(list) > 0 && !slices.ContainsFunc(list, func(one error) bool { return !toldElsewhere(one) })
	case interface{ Unwrap() error }:
		return toldElsewhere(e.Unwrap())
	}
	return false
}

// BodyError is the error that a body returned while no process had failed. Run
// returns it on all ranks.
type BodyError struct {
	// Rank is the lowest rank that had an error, in the communicator of the
	// attempt.
	Rank comm.Rank
	Text string
	// Err is the error itself; nil on other ranks than Rank.
	Err error

	own       error // of another rank's body; nil: it had none
	elsewhere bool
}

// Error names the rank.
func (e *BodyError) Error() string { return fmt.Sprintf("rank %d: %s", e.Rank, e.Text) }

// Elsewhere reports whether this is not the error itself, which Run has returned on Rank at the same time: who says what a job has ended
// with need not say it here.
func (e *BodyError) Elsewhere() bool { return e.elsewhere }

// Unwrap is the error itself on the rank that returned it, and on others the one that their own bodies have returned,
// if they have: so an error that all bodies have returned is found on all ranks.
func (e *BodyError) Unwrap() error { return cmp.Or(e.Err, e.own) }
