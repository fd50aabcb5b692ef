//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package vfs

import (
	"errors"
	"io/fs"
)

func (osFS) OpenLock(name string, _ fs.FileMode) (LockFile, error) {
	return nil, Op{Kind: OpLock, Path: name}.fail(errors.ErrUnsupported)
}
