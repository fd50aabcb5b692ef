package vfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Overwrite implements Overwriter.
func (osFS) Overwrite(name string) (OverwriteFile, error) {
	f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := onlyOne(f); err != nil {
		_ = f.Close() // nothing was written
		return nil, Op{Kind: OpOverwrite, Path: name}.fail(err)
	}
	return osFile{f}, nil
}

// onlyOne returns an error if others have the file open or know another name of
// it. The system grants a lease for writing to the only one that has it open;
// nobody can open it by a name that only the caller knows.
func onlyOne(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || !info.Mode().IsRegular() || stat.Nlink != 1 {
		return fs.ErrInvalid
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lease error
	err = conn.Control(func(fd uintptr) {
		if _, lease = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_WRLCK); lease == nil {
			_, lease = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
		}
	})
	switch {
	case err != nil:
		return err
	case errors.Is(lease, unix.EAGAIN):
		return syscall.EBUSY
	case lease != nil:
		return errors.Join(errors.ErrUnsupported, lease)
	}
	return nil
}
