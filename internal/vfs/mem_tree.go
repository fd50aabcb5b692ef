package vfs

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// maxName is the longest name of a directory entry in bytes, as on Linux.
const maxName = 255

// node is a file or a directory of a Mem, whatever its name.
type node struct {
	perm    fs.FileMode
	modTime time.Time

	// A file: the first durable bytes of data survive a crash.
	data     []byte
	durable  int
	old      *oldBytes // the bytes before it was written over; nil: it was not, or is synced
	open     int
	unlinked bool

	// A directory (entries is not nil): its names now, and those that survive a
	// crash whatever becomes of the pending changes.
	entries map[string]*node
	saved   map[string]*node
	// place is the directory's own entry; the root has none.
	place entry
}

func newDir(perm fs.FileMode) *node {
	return &node{
		perm:    perm.Perm(),
		modTime: time.Now(),
		entries: map[string]*node{},
		saved:   map[string]*node{},
	}
}

func (n *node) isDir() bool { return n.entries != nil }

// isWithin reports whether the directory n is dir or below it.
func (n *node) isWithin(dir *node) bool {
	for n != nil && n != dir {
		n = n.place.dir
	}
	return n != nil
}

// entry is a name in a directory, taken or not.
type entry struct {
	dir  *node
	name string
}

// node returns what has the name now, nil if it is not taken.
func (e entry) node() *node { return e.dir.entries[e.name] }

func (e entry) put(n *node) {
	e.dir.entries[e.name] = n
	if n.isDir() {
		n.place = e
	}
}

// lookup finds what exists under a name.
func (m *Mem) lookup(name string) (*node, error) {
	if name == "" {
		return nil, syscall.ENOENT
	}
	n := m.root
	for base := range strings.FieldsFuncSeq(filepath.Clean("/"+name), func(r rune) bool { return r == '/' }) {
		if !n.isDir() {
			return nil, syscall.ENOTDIR
		}
		if len(base) > maxName {
			return nil, syscall.ENAMETOOLONG
		}
		if n = n.entries[base]; n == nil {
			return nil, syscall.ENOENT
		}
	}
	return n, nil
}

// locate finds the entry for a name in a directory that exists.
func (m *Mem) locate(name string) (entry, error) {
	parent, base := filepath.Split(filepath.Clean("/" + name))
	dir, err := m.lookup(parent)
	switch {
	case name == "":
		return entry{}, syscall.ENOENT
	case base == "":
		return entry{}, syscall.EBUSY // the root
	case err != nil:
		return entry{}, err
	case !dir.isDir():
		return entry{}, syscall.ENOTDIR
	case len(base) > maxName:
		return entry{}, syscall.ENAMETOOLONG
	}
	return entry{dir, base}, nil
}

// vacant is locate for a name that must not be taken.
func (m *Mem) vacant(name string) (entry, error) {
	e, err := m.locate(name)
	if err == syscall.EBUSY || err == nil && e.node() != nil {
		return entry{}, syscall.EEXIST
	}
	return e, err
}

// occupied is locate for a name that must be taken.
func (m *Mem) occupied(name string) (entry, error) {
	e, err := m.locate(name)
	if err == nil && e.node() == nil {
		err = syscall.ENOENT
	}
	return e, err
}

// memInfo is the fs.FileInfo of a node at one moment.
type memInfo struct {
	name    string
	size    int64
	mode    fs.FileMode
	modTime time.Time
}

var _ fs.FileInfo = memInfo{}

func (n *node) info(name string) memInfo {
	mode := n.perm
	if n.isDir() {
		mode |= fs.ModeDir
	}
	return memInfo{filepath.Base(name), int64(len(n.data)), mode, n.modTime}
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) Mode() fs.FileMode  { return i.mode }
func (i memInfo) ModTime() time.Time { return i.modTime }
func (i memInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memInfo) Sys() any           { return nil }
