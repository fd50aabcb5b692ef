package placement

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/nodelocal"
)

const full = "the node's storage is full"

// needsCleaning is what Linux says of a damaged file system (EUCLEAN, which others do not have).
const needsCleaning = syscall.Errno(117)

// refusals are the errors of a node's storage that takes nothing, or no more, and
// what they say for people. What is to be stored there goes elsewhere.
var refusals = []struct {
	problem string
	errs    []error
}{
	{full, []error{nodelocal.ErrNoSpace, syscall.ENOSPC, syscall.EDQUOT}},
	{"the node's storage is gone", []error{storage.ErrVanished, syscall.ENOTDIR}},
	{"the node's storage is read-only", []error{syscall.EROFS}},
	{"the node's storage refuses writes", []error{fs.ErrPermission}},
	{"the node's storage was changed", []error{nodelocal.ErrNotPrivate, nodelocal.ErrForeign, nodelocal.ErrCopied}},
	{"the node's storage is used by another job", []error{storage.ErrLocked}},
	{"the node's storage fails", []error{syscall.EIO, syscall.ENXIO, syscall.ENODEV, syscall.ESTALE, syscall.EBADMSG, needsCleaning}},
	{"the node's storage cannot be reached", []error{syscall.ELOOP, syscall.ENOTCONN}},
}

// refusal says why a node's storage does not take something; "" if the error is
// about something else.
func refusal(err error) (problem string) {
	for _, r := range refusals {
		if slices.ContainsFunc(r.errs, func(refused error) bool { return errors.Is(err, refused) }) {
			return r.problem
		}
	}
	return ""
}

// movable reports whether the home is the place for what the node cannot take.
func movable(err error) bool { return refusal(err) != "" }

// stuck reports whether a node cannot delete anything either.
func stuck(err error) bool {
	problem := refusal(err)
	return problem != "" && problem != full
}

// recognisable makes the error of a deletion on this node one that is stuck for the
// rank that asked for it too: not all refusals are known there (exchange.RemoteError).
func recognisable(err error) error {
	if !stuck(err) {
		return err
	}
	return stuckError{err}
}

// stuckError has the text of what it is about.
type stuckError struct{ error }

func (e stuckError) Is(target error) bool { return target == syscall.EIO }
func (e stuckError) Unwrap() error        { return e.error }
