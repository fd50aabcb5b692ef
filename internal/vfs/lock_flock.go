//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func (osFS) OpenLock(name string, perm fs.FileMode) (LockFile, error) {
	flags := os.O_RDONLY
	if perm != 0 {
		flags = os.O_RDWR | os.O_CREATE
	}
	f, err := os.OpenFile(name, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, perm)
	if err != nil {
		return nil, err
	}
	return osLock{f}, nil
}

type osLock struct{ *os.File }

func (l osLock) TryLock(mode LockMode) error {
	how := syscall.LOCK_SH
	if mode == Exclusive {
		how = syscall.LOCK_EX
	}
	if err := l.flock(how | syscall.LOCK_NB); err != nil {
		_ = l.flock(syscall.LOCK_UN) // the system may have kept the one before
		return Op{Kind: OpLock, Path: l.Name()}.fail(err)
	}
	return nil
}

// Close gives the lock back also where a child that is just being started has the file
// open still.
func (l osLock) Close() error {
	_ = l.flock(syscall.LOCK_UN)
	return l.File.Close()
}

func (l osLock) flock(how int) error {
	return control(l.File, func(fd int) error {
		for {
			if err := syscall.Flock(fd, how); !errors.Is(err, syscall.EINTR) {
				return err
			}
		}
	})
}
