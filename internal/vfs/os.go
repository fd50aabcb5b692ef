package vfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// OS returns the file system of the operating system. Stat follows symbolic
// links, ReadDir tells them apart.
func OS() FS { return osFS{} }

// OSWithMode is OS, but all files that it makes have this mode, whatever was asked for and
// whatever the umask is, and all directories the one for it: who may read files may list them.
// Directories keep the bit by which what is in them is of their group.
func OSWithMode(file fs.FileMode) FS { return osFS{mode: file} }

type osFS struct{ mode fs.FileMode } // 0: what is asked for

var _ FS = osFS{}

// Open does not wait for a writer, if somebody has put a named pipe in the place of a file.
func (osFS) Open(name string) (File, error) {
	return newOSFile(os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

func (o osFS) Create(name string, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err == nil && o.mode != 0 {
		if err = f.Chmod(o.mode); err != nil {
			err = errors.Join(err, f.Close(), os.Remove(name))
		}
	}
	return newOSFile(f, err)
}

func (osFS) OverwriteFrom() int64 { return 1 << 20 }

func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(name) }
func (osFS) Rename(oldname, newname string) error       { return os.Rename(oldname, newname) }
func (osFS) Remove(name string) error                   { return os.Remove(name) }

func (o osFS) Mkdir(name string, perm fs.FileMode) error {
	err := os.Mkdir(name, perm)
	if err != nil || o.mode == 0 {
		return err
	}
	info, err := os.Stat(name)
	if err == nil {
		err = os.Chmod(name, o.mode|o.mode&0o444>>2|info.Mode()&fs.ModeSetgid)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

func (osFS) SyncDir(name string) error {
	dir, err := os.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !cannotSyncDir(err) {
		return err
	}
	return nil
}

// cannotSyncDir recognises the answer of file systems that have no fsync for
// directories: there is nothing more that a program could do.
func cannotSyncDir(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}

// control does something with the descriptor of a file.
func control(file *os.File, do func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = conn.Control(func(fd uintptr) { result = do(int(fd)) })
	return errors.Join(err, result)
}

type osFile struct{ *os.File }

var _ File = osFile{}

func newOSFile(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}
