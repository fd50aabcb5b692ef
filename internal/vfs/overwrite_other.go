//go:build !linux

package vfs

import (
	"errors"
	"io/fs"
)

func (osFS) Overwrite(name string, _ fs.FileMode) (OverwriteFile, error) {
	return nil, Op{Kind: OpOverwrite, Path: name}.fail(errors.ErrUnsupported)
}
