package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// image is the program's file as it was when the job began. Replacements are
// started from it too, whatever has been put in its place since: ranks of two
// programs would not be one job.
type image struct {
	path string
	held *os.File // has no content to read; nil: it cannot be held
	info os.FileInfo
}

func openImage(path string) (*image, error) {
	held, err := holdFile(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if held != nil {
		info, err = held.Stat()
	}
	return &image{path: path, held: held, info: info}, err
}

// find returns what to execute, and a function to call when it runs. replaced:
// another file is at the path.
func (i *image) find() (path string, replaced bool, done func(), err error) {
	now, err := os.Stat(i.path)
	if err == nil && os.SameFile(now, i.info) && unchanged(now, i.info) {
		return i.path, false, func() {}, nil
	}
	switch info, failed := i.held.Stat(); {
	case i.held == nil:
		err = errors.New("this system cannot start the old one")
	case failed != nil || !unchanged(info, i.info):
		err = errors.New("it was written over")
	case i.isScript():
		err = errors.New("it is a script, whose interpreter would read the new one")
	default:
		path, done = i.link()
		return path, true, done, nil
	}
	return "", true, nil, fmt.Errorf("%s is not what it was when the job began: %w; put it back, or end the job and start it again", i.path, err)
}

// anotherIsThere reports whether another file has been put at the path.
func (i *image) anotherIsThere() bool {
	now, err := os.Stat(i.path)
	return err == nil && !os.SameFile(now, i.info)
}

func unchanged(a, b os.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// heldPath leads to the file for this process and its children.
func (i *image) heldPath() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), i.held.Fd()) }

func (i *image) isScript() bool {
	f, err := os.Open(i.heldPath())
	if err != nil {
		return false // its interpreter could not read it either
	}
	defer func() { _ = f.Close() }() // it was only read
	var start [2]byte
	_, err = f.Read(start[:])
	return err == nil && string(start[:]) == "#!"
}

// link is a way to the file that ends in the program's name: the system calls the
// process by it.
func (i *image) link() (path string, done func()) {
	dir, err := os.MkdirTemp("", "craft-program-")
	if err != nil {
		return i.heldPath(), func() {}
	}
	path = filepath.Join(dir, filepath.Base(i.path))
	if os.Symlink(i.heldPath(), path) != nil {
		path = i.heldPath()
	}
	return path, func() { _ = os.RemoveAll(dir) } // it is of no use any more
}
