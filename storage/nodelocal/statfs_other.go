//go:build !linux

package nodelocal

import (
	"errors"
	"io/fs"
)

func statfs(dir string) (Space, error) {
	return Space{}, &fs.PathError{Op: "statfs", Path: dir, Err: errors.ErrUnsupported}
}
