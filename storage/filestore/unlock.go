package filestore

import (
	"bytes"
	"context"

	"github.com/craft-go/craft/internal/vfs"
)

// ReadOwner says who holds the lock of a checkpoint directory, and what can be known
// of its process without watching it; the error matches fs.ErrNotExist if nobody does.
// The zero Owner: the file does not tell, because its writer was killed while it wrote.
func ReadOwner(fsys vfs.FS, dir string) (Owner, ProcessState, error) {
	s := &Store{dir: dir, fs: fsys}
	data, err := vfs.ReadFile(fsys, s.lockPath(), lockLimit)
	if err != nil {
		return Owner{}, ProcessUnknown, err
	}
	owner, err := parseOwner(data)
	if err != nil {
		return Owner{}, ProcessUnknown, nil
	}
	return owner, s.ownerState(owner), nil
}

// Unlock removes the lock of a checkpoint directory and returns who held it. Unless it
// is forced the lock must be free, as for Store.Lock: an owner that cannot be looked at
// is watched for c.Patience, and one that is alive is storage.ErrLocked.
func Unlock(ctx context.Context, fsys vfs.FS, dir string, c LockConfig, force bool) (Owner, error) {
	s := &Store{dir: dir, fs: fsys, lock: c.withDefaults()}
	data, err := vfs.ReadFile(fsys, s.lockPath(), lockLimit)
	if err != nil {
		return Owner{}, err
	}
	owner, _ := parseOwner(data) // zero if it does not tell
	if !force {
		if err := s.judge(ctx, data); err != nil {
			return owner, err
		}
	}
	// What the owner has not published it must not publish later. It goes while there is
	// its lock, without which somebody else may be at work.
	if now, err := vfs.ReadFile(fsys, s.lockPath(), lockLimit); err == nil && bytes.Equal(now, data) {
		s.withdraw()
	}
	return owner, s.discardLock(data)
}
