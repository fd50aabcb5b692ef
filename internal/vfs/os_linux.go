package vfs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func (o osFS) Overwrite(name string, perm fs.FileMode) (OverwriteFile, error) {
	f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // nobody's lease is waited for
	if err != nil {
		return nil, err
	}
	mode, err := onlyOne(f)
	if perm = cmp.Or(o.mode, perm); err == nil && mode != perm {
		err = f.Chmod(perm)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, Op{Kind: OpOverwrite, Path: name}.fail(err)
	}
	return osFile{f}, nil
}

// onlyOne returns the mode of a file, or an error if others have it open or know another name
// of it. The system grants a lease for writing to the only one that has it open;
// nobody can open it by a name that only the caller knows.
func onlyOne(f *os.File) (mode fs.FileMode, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || !info.Mode().IsRegular() || stat.Nlink != 1 {
		return 0, fs.ErrInvalid
	}
	err = control(f, func(fd int) error {
		err := isLocal(fd)
		if err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
		}
		if err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
		}
		return err
	})
	switch {
	case errors.Is(err, unix.EAGAIN):
		return 0, syscall.EBUSY
	case err != nil:
		return 0, errors.Join(errors.ErrUnsupported, err)
	}
	return info.Mode().Perm(), nil
}

// isLocal returns an error unless all that happens to a file happens on this machine, and
// it is written in place: a network file system may grant leases without asking who has the
// file open elsewhere, and others make new blocks all the same.
func isLocal(fd int) error {
	var fsys unix.Statfs_t
	if err := unix.Fstatfs(fd, &fsys); err != nil {
		return err
	}
	switch int64(fsys.Type) {
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return nil
	}
	return fmt.Errorf("file system of type %#x", fsys.Type)
}

var _ RangeSyncer = osFile{}

// StartSync queues the dirty pages of the range for writing and does not wait for them.
func (f osFile) StartSync(off, n int64) {
	_ = control(f.File, func(fd int) error { // Sync reports what is wrong
		return unix.SyncFileRange(fd, off, n, unix.SYNC_FILE_RANGE_WRITE)
	})
}
