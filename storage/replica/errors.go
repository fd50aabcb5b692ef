package replica

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrOptions: what was given to Open cannot be.
	ErrOptions = errors.New("replica: options")
	// ErrTooFewNodes: more copies are wanted than there are nodes. It matches ErrOptions, too.
	ErrTooFewNodes = fmt.Errorf("%w: too few nodes", ErrOptions)
	// ErrBlocks: what was given to Submit cannot be, or the ranks disagree about it.
	ErrBlocks = errors.New("replica: blocks")
	// ErrRange: blocks were asked for that there are not.
	ErrRange = errors.New("replica: no such blocks")
	// ErrMemory: there is not enough memory for another version or for copies.
	ErrMemory = errors.New("replica: not enough memory")
	// ErrEmpty: nothing has been submitted, or what was is lost as a whole.
	ErrEmpty = errors.New("replica: there is no version")
	// ErrLost is what a *LostError matches.
	ErrLost = errors.New("replica: blocks are lost")
	// ErrUnbound: the store has not been opened since a recovery, or since an operation of this rank was
	// ended by its context or by a failure.
	ErrUnbound = errors.New("replica: the store is to be opened anew: Open is called at the beginning of each attempt, and after a call that a context has ended")
	// ErrClosed: Close has been called.
	ErrClosed = errors.New("replica: the store is closed")
)

// LostError says which blocks have no copy any more (irrecoverable data loss). The
// program gets them elsewhere, from a file for example, and goes on with the rest.
type LostError struct{ Ranges []Range }

// Error names them.
func (e *LostError) Error() string {
	var list []string
	var blocks int64
	for i, r := range e.Ranges {
		blocks += r.Len()
		if i < 8 {
			list = append(list, r.String())
		}
	}
	if len(e.Ranges) > len(list) {
		list = append(list, fmt.Sprintf("and %d more", len(e.Ranges)-len(list)))
	}
	return fmt.Sprintf("%v: %d of them, all their copies were on ranks that have failed, or are damaged: %s", ErrLost, blocks, strings.Join(list, ", "))
}

// Is implements errors.Is.
func (e *LostError) Is(target error) bool { return target == ErrLost }
