package storage

import (
	"errors"
	"fmt"

	"github.com/craft-go/craft/storage/container"
)

var (
	// ErrDamaged is matched by every error that says that bytes of a part are
	// wrong, in contrast to bytes that could not be read now.
	ErrDamaged = container.ErrDamaged

	// ErrNotFound is returned when a part or a version is not on this level.
	ErrNotFound = errors.New("not found")

	// ErrLocked is returned when another job writes to the same place.
	ErrLocked = errors.New("locked by another job")

	// ErrLockLost is returned by a write when somebody else has taken or
	// removed the lock that this job held.
	ErrLockLost = errors.New("lock lost")

	// ErrVanished is returned by a write when the directory of the checkpoint
	// is no longer there, or what it was in is another directory or disk now.
	ErrVanished = errors.New("checkpoint directory vanished")

	// ErrCalledOff ends what is done in the background for a version that is deleted.
	ErrCalledOff = errors.New("the version is not kept any more")

	// ErrKept is returned when a version is not deleted because somebody has marked it, or
	// one that refers to it.
	ErrKept = errors.New("the version is marked to be kept")

	// ErrName is returned for a name that cannot be used as a file name.
	ErrName = errors.New("invalid name")
)

// Passing reports whether an error says neither that bytes are wrong nor that they are
// not there: they may be had later.
func Passing(err error) bool {
	return err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNotFound)
}

// PartError says which part of which version an error is about.
type PartError struct {
	Op   string // "read", "write", "verify"
	ID   ID
	Part Part
	Path string // where the part is or would be, as far as the driver knows
	Err  error
}

func (e *PartError) Error() string {
	where := e.Path
	if where == "" {
		where = fmt.Sprintf("%v of %v", e.Part, e.ID)
	}
	return fmt.Sprintf("%s %s: %v", e.Op, where, e.Err)
}

func (e *PartError) Unwrap() error { return e.Err }
