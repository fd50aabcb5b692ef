package nodelocal

import (
	"errors"
	"fmt"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

var (
	// ErrNotPrivate is matched when a directory must not be used because other
	// users could read or exchange what is in it, or because it is theirs.
	ErrNotPrivate = errors.New("not private to this user")

	// ErrForeign is matched when a directory was made for another checkpoint,
	// or does not tell for which one.
	ErrForeign = errors.New("not of this checkpoint")

	// ErrCopied is matched when a directory was made on another node or under
	// another path: what it holds says nothing of this node.
	ErrCopied = errors.New("copied from elsewhere")

	// ErrNoSpace is matched when the storage of the node, or this user's share
	// of it, is full. Everything that was there is still there.
	ErrNoSpace = errors.New("storage of the node is full")
)

// PlaceError says why a directory is not used and how to repair that. Nothing in
// it was used or changed.
type PlaceError struct {
	Dir    string
	Err    error  // ErrNotPrivate, ErrForeign, ErrCopied or storage.ErrLocked
	Reason string // what was found
	Remedy string // what the user can do
}

func (e *PlaceError) Error() string {
	return fmt.Sprintf("directory %s on this node is %v: %s; %s", e.Dir, e.Err, e.Reason, e.Remedy)
}

func (e *PlaceError) Unwrap() error { return e.Err }

// placeError is a *PlaceError, with a reason as for fmt.Sprintf.
func placeError(dir string, why error, remedy, reason string, args ...any) error {
	return &PlaceError{Dir: dir, Err: why, Reason: fmt.Sprintf(reason, args...), Remedy: remedy}
}

// UnlistedError has the versions of which it cannot be seen what is here of them.
type UnlistedError struct{ Versions []UnlistedVersion }

// UnlistedVersion is one of them, and why.
type UnlistedVersion struct {
	ID  storage.ID
	Err error
}

func (e *UnlistedError) Error() string {
	text := e.Versions[0].Err.Error()
	if more := len(e.Versions) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more versions)", more)
	}
	return text
}

func (e *UnlistedError) Unwrap() error { return e.Versions[0].Err }

// recognise makes a full storage match ErrNoSpace.
func (s *Store) recognise(err error) error {
	if errors.Is(err, ErrNoSpace) || !vfs.IsFull(err) {
		return err
	}
	return fmt.Errorf("%w: %w; free some of %s, keep fewer versions on the node, or let CRAFT_NODE_PATH name a larger one", ErrNoSpace, err, s.config.Root)
}
