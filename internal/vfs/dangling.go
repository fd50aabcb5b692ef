package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Dangling returns an error if name, which cannot be found, is in its directory all
// the same: a link that leads nowhere, perhaps to a file system that is not mounted.
// What it leads to may be there again later, so nothing may be concluded from its
// absence. The error does not match fs.ErrNotExist.
func Dangling(fsys Reader, name string) error {
	entries, err := fsys.ReadDir(filepath.Dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == filepath.Base(name) && e.Type()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link to something that is not there: perhaps its file system is not mounted here", name)
		}
	}
	return nil
}
