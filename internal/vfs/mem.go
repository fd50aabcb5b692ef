package vfs

import (
	"io/fs"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Mem is a file system in memory for tests. It knows what is durable, so that Crash can clone
// it as a loss of power would leave the disk. It is safe for concurrent use.
//
// It starts with an empty root directory "/"; relative names start there too,
// and ".." is resolved by name. Permissions are recorded and not enforced (use
// WithErrors); there are no links.
type Mem struct {
	mu       sync.Mutex
	root     *node
	pending  pendingChanges
	onOp     func(Op)
	capacity int64
	used     int64
}

var _ FS = (*Mem)(nil)

// NewMem returns an empty file system of unlimited capacity.
func NewMem() *Mem {
	return &Mem{root: newDir(fs.ModePerm), pending: pendingChanges{latest: map[entry]*change{}}, capacity: -1}
}

// OnOp has report called after every successful operation for which Op.Kind.Mutates, in the
// goroutine that made it and before it returns; a Write that ran out of space is reported with
// the bytes that it wrote. report may use the Mem, call Crash above all, and is called
// concurrently if the Mem is used concurrently: the state that it sees may then be newer than
// its Op. nil ends the reports.
func (m *Mem) OnOp(report func(Op)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onOp = report
}

// SetCapacity limits the bytes that all files may hold together: writes beyond
// it are cut short with ENOSPC. A negative number means no limit.
func (m *Mem) SetCapacity(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity = bytes
}

// Used returns the bytes that all files hold together, those included that have
// been removed and are still open.
func (m *Mem) Used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// mutate runs change under the lock and reports the operation after it.
func (m *Mem) mutate(op Op, change func() error) error {
	report, err := m.locked(change)
	if err == nil && report != nil {
		report(op)
	}
	return op.fail(err)
}

// locked returns whom to tell about the change after the lock.
func (m *Mem) locked(change func() error) (report func(Op), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.onOp, change()
}

func (m *Mem) Create(name string, perm fs.FileMode) (File, error) {
	file := &memFile{mem: m, name: name, writable: true}
	err := m.mutate(Op{Kind: OpCreate, Path: name}, func() error {
		at, err := m.vacant(name)
		if err != nil {
			return err
		}
		file.node = &node{perm: perm.Perm(), modTime: time.Now(), open: 1}
		m.link(at, file.node)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (m *Mem) Mkdir(name string, perm fs.FileMode) error {
	return m.mutate(Op{Kind: OpMkdir, Path: name}, func() error {
		at, err := m.vacant(name)
		if err != nil {
			return err
		}
		m.link(at, newDir(perm))
		return nil
	})
}

// Rename never replaces a directory, like os.Rename.
func (m *Mem) Rename(oldname, newname string) error {
	return m.mutate(Op{Kind: OpRename, Path: oldname, NewPath: newname}, func() error {
		from, err := m.occupied(oldname)
		if err != nil {
			return err
		}
		to, err := m.locate(newname)
		if err != nil {
			return err
		}
		moved, replaced := from.node(), to.node()
		switch {
		case from == to && !moved.isDir():
			return nil
		case replaced != nil && replaced.isDir():
			return syscall.EEXIST
		case replaced != nil && moved.isDir():
			return syscall.ENOTDIR
		case to.dir.isWithin(moved):
			return syscall.EINVAL
		}
		m.pending.rename(from, to, moved)
		delete(from.dir.entries, from.name)
		m.release(replaced)
		to.put(moved)
		return nil
	})
}

func (m *Mem) Remove(name string) error {
	return m.mutate(Op{Kind: OpRemove, Path: name}, func() error {
		at, err := m.occupied(name)
		if err != nil {
			return err
		}
		removed := at.node()
		if len(removed.entries) > 0 {
			return syscall.ENOTEMPTY
		}
		m.pending.remove(at, removed)
		delete(at.dir.entries, at.name)
		m.release(removed)
		return nil
	})
}

func (m *Mem) SyncDir(name string) error {
	return m.mutate(Op{Kind: OpSyncDir, Path: name}, func() error {
		dir, err := m.lookup(name)
		if err != nil {
			return err
		}
		if !dir.isDir() {
			return syscall.ENOTDIR
		}
		m.pending.commit(dir)
		return nil
	})
}

func (m *Mem) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup(name)
	if err != nil {
		return nil, Op{Kind: OpOpen, Path: name}.fail(err)
	}
	n.open++
	return &memFile{mem: m, name: name, node: n}, nil
}

func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.lookup(name)
	if err == nil && !dir.isDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, Op{Kind: OpReadDir, Path: name}.fail(err)
	}
	entries := make([]fs.DirEntry, 0, len(dir.entries))
	for _, base := range slices.Sorted(maps.Keys(dir.entries)) {
		entries = append(entries, fs.FileInfoToDirEntry(dir.entries[base].info(base)))
	}
	return entries, nil
}

func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup(name)
	if err != nil {
		return nil, Op{Kind: OpStat, Path: name}.fail(err)
	}
	return n.info(name), nil
}

func (m *Mem) link(at entry, n *node) {
	m.pending.add(&change{sets: []assignment{{at, n}}})
	at.put(n)
}

// release frees the space of a node that has lost its name (nil: there is none)
// or its last open file, when it has neither.
func (m *Mem) release(n *node) {
	if n == nil {
		return
	}
	if n.open == 0 {
		m.used -= int64(len(n.data))
	}
	n.unlinked = true
}
