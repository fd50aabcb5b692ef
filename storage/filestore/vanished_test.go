package filestore

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// unmountable is a checkpoint in a base that can be exchanged: the rank with the lock,
// and another one.
type unmountable struct {
	t           *testing.T
	base, aside string
	root, other *Store
	held        storage.Lock
	lastOf      map[*Store]uint64
}

func newUnmountable(t *testing.T) *unmountable {
	dir := t.TempDir()
	u := &unmountable{t: t, base: filepath.Join(dir, "above", "base"), aside: filepath.Join(dir, "aside"), lastOf: make(map[*Store]uint64)}
	u.root, u.other = lockedBy(t, u.base, "a", time.Minute), lockedBy(t, u.base, "a", time.Minute)
	var err error
	u.held, err = u.root.Lock(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = u.held.Unlock() })
	return u
}

func (u *unmountable) put(s *Store) error {
	if s == u.root {
		if err := u.held.Check(); err != nil {
			return err
		}
	}
	u.lastOf[s]++
	rank := 0
	if s == u.other {
		rank = 1
	}
	w, err := s.Create(u.t.Context(), storage.ID{Version: u.lastOf[s]}, storage.Part{Rank: rank, Size: 2})
	if err != nil {
		return err
	}
	return w.Commit()
}

func (u *unmountable) write() {
	u.t.Helper()
	require.NoError(u.t, u.put(u.root))
	require.NoError(u.t, u.put(u.other))
}

// unmount leaves an empty base, and has both ranks notice.
func (u *unmountable) unmount() {
	u.t.Helper()
	require.NoError(u.t, os.Rename(u.base, u.aside))
	require.NoError(u.t, os.Mkdir(u.base, 0o700))
	for range 3 {
		require.ErrorIs(u.t, u.put(u.root), storage.ErrVanished)
		require.ErrorIs(u.t, u.put(u.other), storage.ErrVanished)
	}
	require.ErrorContains(u.t, u.put(u.other), u.base+" is another directory now")
	require.ErrorIs(u.t, u.root.WriteMetadata(u.t.Context(), storage.ManifestName, nil), storage.ErrVanished)
	require.NoDirExists(u.t, u.root.Dir())
}

func TestBaseIsUnmountedForAWhile(t *testing.T) {
	u := newUnmountable(t)
	u.write()
	for range 2 {
		u.unmount()
		require.NoError(t, os.Remove(u.base))
		require.NoError(t, os.Rename(u.aside, u.base))
		u.write()
	}
	require.NoError(t, os.RemoveAll(u.root.Dir())) // by hand, in the right base
	require.ErrorIs(t, u.put(u.root), storage.ErrVanished)
	require.ErrorIs(t, u.put(u.other), storage.ErrVanished)
	u.write()
}

// A file system that is mounted again can have another device.
func TestBaseIsMountedWithOtherNumbers(t *testing.T) {
	u := newUnmountable(t)
	u.write()
	u.unmount()
	require.NoError(t, os.CopyFS(u.base, os.DirFS(u.aside)))
	u.write()
	require.NoError(t, os.RemoveAll(u.aside))
	u.unmount() // it is that one now
}

// A job that recovers goes on where it has written, whichever process is its rank 0 now. The
// next job begins where its base is.
func TestRecoveryInAnotherBase(t *testing.T) {
	u := newUnmountable(t)
	u.write()
	u.unmount()
	again := func(was *Store, job string, epoch int) *Store {
		s, err := New(Config{Path: u.base, Name: "test", FS: was.fs, Lock: LockConfig{Job: job, Epoch: epoch}})
		require.NoError(t, err)
		return s
	}
	for _, was := range []*Store{u.root, u.other} {
		s := again(was, "a", 1)
		require.ErrorIs(t, s.CheckBase(), storage.ErrVanished)
		_, err := s.Lock(t.Context())
		require.ErrorIs(t, err, storage.ErrVanished)
		require.NoDirExists(t, s.Dir())
		require.NoError(t, again(was, "b", 1).CheckBase(), "another job")
	}
	require.NoError(t, os.CopyFS(u.base, os.DirFS(u.aside))) // mounted again, with other numbers
	require.NoError(t, os.Remove(filepath.Join(u.base, "test", LockName)))
	for _, was := range []*Store{u.root, u.other} {
		require.NoError(t, again(was, "a", 1).CheckBase())
	}
	require.NoError(t, os.RemoveAll(u.base))
	require.NoError(t, os.MkdirAll(filepath.Join(u.base, "test"), 0o700)) // as the error says
	for _, was := range []*Store{u.root, u.other} {
		require.NoError(t, again(was, "a", 1).CheckBase())
	}
	require.NoError(t, os.RemoveAll(u.base))
	require.NoError(t, os.Rename(u.aside, u.base))
	s := again(u.other, "a", 1)
	require.NoError(t, s.CheckBase())
	held, err := again(u.root, "a", 1).Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, held.Unlock())
	require.NoError(t, os.Rename(u.base, u.aside))
	held, err = again(u.root, "a", 0).Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, held.Unlock())
}

func TestBaseIsALinkThatIsSwitched(t *testing.T) {
	u := newUnmountable(t)
	u.write()
	target, empty := filepath.Join(u.aside, "a"), filepath.Join(u.aside, "b")
	require.NoError(t, os.MkdirAll(empty, 0o700))
	require.NoError(t, os.Rename(u.base, target))
	point := func(to string) {
		require.NoError(t, os.RemoveAll(u.base))
		require.NoError(t, os.Symlink(to, u.base))
	}
	point(target)
	u.write()
	point(empty)
	for range 3 {
		require.ErrorIs(t, u.put(u.root), storage.ErrVanished)
		require.ErrorIs(t, u.put(u.other), storage.ErrVanished)
	}
	point(target)
	u.write()
}

// The directory is made in another base by hand alone.
func TestBaseIsGivenUp(t *testing.T) {
	u := newUnmountable(t)
	u.write()
	u.unmount()
	foreign := filepath.Join(u.root.Dir(), storage.ID{Version: 77}.String())
	require.NoError(t, os.MkdirAll(foreign, 0o700))
	require.ErrorIs(t, u.put(u.root), storage.ErrVanished, "of another time when it was unmounted")
	require.ErrorIs(t, u.put(u.other), storage.ErrVanished)
	require.NoFileExists(t, u.root.lockPath())
	require.NoError(t, os.Remove(foreign))
	require.ErrorIs(t, u.put(u.other), storage.ErrVanished, "the rank with the lock goes first")
	u.write()
}

// A rank that is to write its first part leaves it to the one with the lock to make the
// directory: it does not know the base.
func TestBaseThatARankHasNotSeen(t *testing.T) {
	u := newUnmountable(t)
	require.NoError(t, os.RemoveAll(u.root.Dir()))
	for range 3 {
		require.ErrorIs(t, u.put(u.other), storage.ErrVanished)
		require.NoDirExists(t, u.root.Dir())
	}
	require.ErrorIs(t, u.put(u.root), storage.ErrVanished)
	u.write()
}
