package vfs

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// Dangling returns an error if name, which cannot be found, is in its directory all
// the same: a link that leads nowhere, perhaps to a file system that is not mounted.
// What it leads to may be there again later, so nothing may be concluded from its
// absence. The error does not match fs.ErrNotExist.
func Dangling(fsys Reader, name string) error {
	entries, err := fsys.ReadDir(filepath.Dir(name))
	if err != nil {
		return IgnoreMissing(err)
	}
	link := func(e fs.DirEntry) bool { return e.Name() == filepath.Base(name) && e.Type()&fs.ModeSymlink != 0 }
	if !slices.ContainsFunc(entries, link) {
		return nil
	}
	return fmt.Errorf("%s is a link to something that is not there: perhaps its file system is not mounted here", name)
}
