package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
)

// ErrTooLarge is returned when a file holds more bytes than the reader allows.
var ErrTooLarge = errors.New("file is too large")

// IsFull recognises that the system has no space left, for all or for this user.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// IgnoreMissing is err, or nil if it says that something does not exist.
func IgnoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ShortWrite is an error for the injector of WithErrors: the first N bytes of
// the failing Write are written, then the Write fails with Err
// (io.ErrShortWrite if nil). For operations other than Write it is just Err.
type ShortWrite struct {
	N   int
	Err error
}

func (e *ShortWrite) Error() string {
	return fmt.Sprintf("short write of %d bytes: %v", e.N, e.Unwrap())
}

func (e *ShortWrite) Unwrap() error {
	if e.Err == nil {
		return io.ErrShortWrite
	}
	return e.Err
}
