//go:build !linux

package vfs

import "errors"

// Overwrite implements Overwriter.
func (osFS) Overwrite(name string) (OverwriteFile, error) {
	return nil, Op{Kind: OpOverwrite, Path: name}.fail(errors.ErrUnsupported)
}
