package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
)

// WriteFile replaces a file in one step: a reader, or a restart after a crash,
// finds the old contents or the new ones. It writes under a hidden name in the
// same directory (".<base>.<random>.tmp") and renames. With sync the data is
// durable before the rename and the name before WriteFile returns; without it,
// only other processes are safe from half a file, a crash can still tear it.
//
// On an error the temporary is removed if possible. The old file is still there
// then, except after a failed SyncDir: either can survive a crash.
func WriteFile(fsys FS, name string, data []byte, perm fs.FileMode, sync bool) error {
	dir, base := filepath.Split(name)
	temp := dir + fmt.Sprintf(".%s.%016x.tmp", base, rand.Uint64())
	f, err := fsys.Create(temp, perm)
	if err != nil {
		return err
	}
	err = fill(f, data, sync)
	if err == nil {
		err = fsys.Rename(temp, name)
	}
	if err != nil {
		// The first error is the one to act on; a left-over has a hidden name.
		_ = fsys.Remove(temp)
		return err
	}
	if sync {
		return fsys.SyncDir(filepath.Dir(name))
	}
	return nil
}

func fill(f File, data []byte, sync bool) error {
	_, err := f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
