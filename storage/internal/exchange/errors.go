package exchange

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/offheap"
	"github.com/craft-go/craft/storage"
)

var (
	// ErrClosed is returned when a Service has been closed, this rank's or that
	// of the rank that was asked.
	ErrClosed = errors.New("exchange of parts closed")

	// ErrBusy is returned when the other rank already serves as many streams of
	// this one as it allows (Options.Streams, which should be the same at all).
	ErrBusy = errors.New("too many streams at once")

	// ErrTransfer is returned when bytes have changed on their way, or messages
	// do not follow each other. It says nothing about what is stored.
	ErrTransfer = errors.New("damaged in transfer")

	// ErrRequest is returned for a request that cannot be made: a name that is
	// too long, for example.
	ErrRequest = errors.New("invalid request")
)

// Error says what failed between which ranks. Err matches what the cause
// matches: a RemoteError, comm.ErrProcFailed, comm.ErrRevoked, an error of the
// context, or an error of this package.
type Error struct {
	Op   string // "create", "write", "commit", "abort", "open", "read"
	Rank comm.Rank
	Name string
	Err  error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s %q at rank %d: %v", e.Op, e.Name, e.Rank, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// RemoteError is an error of another rank's handler. errors.Is finds in it those
// of the known errors (see known) that the original matched.
type RemoteError struct {
	Text  string
	codes uint32
}

func (e *RemoteError) Error() string { return "remote: " + e.Text }

// Is reports whether the original error matched target, if that is a known one.
func (e *RemoteError) Is(target error) bool {
	for i, k := range known {
		if k == target && e.codes&(1<<i) != 0 {
			return true
		}
	}
	return false
}

// known are the errors that are still recognised at another rank. Their places
// are sent: new ones come at the end, at most 32.
var known = []error{
	fs.ErrNotExist,
	fs.ErrExist,
	fs.ErrPermission,
	fs.ErrClosed,
	syscall.ENOSPC,
	syscall.EDQUOT,
	syscall.EIO,
	syscall.EROFS,
	context.Canceled,
	context.DeadlineExceeded,
	storage.ErrNotFound,
	storage.ErrDamaged,
	storage.ErrVanished,
	storage.ErrLockLost,
	storage.ErrName,
	comm.ErrProcFailed,
	comm.ErrRevoked,
	comm.ErrFenced,
	ErrClosed,
	ErrBusy,
	ErrTransfer,
	ErrRequest,
	storage.ErrCalledOff,
	offheap.ErrNotThere,
}

func codesOf(err error) uint32 {
	var codes uint32
	for i, k := range known {
		if errors.Is(err, k) {
			codes |= 1 << i
		}
	}
	return codes
}
