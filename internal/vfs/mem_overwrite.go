package vfs

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
)

var _ Overwriter = (*Mem)(nil)

// Overwrite implements Overwriter. The bytes of before stay in the node's old until a
// Sync: a crash may leave some of them.
func (m *Mem) Overwrite(name string, perm fs.FileMode) (OverwriteFile, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup(name)
	switch {
	case err != nil:
	case n.isDir():
		err = fs.ErrInvalid
	case n.open > 0:
		err = syscall.EBUSY
	}
	if err != nil {
		return nil, Op{Kind: OpOverwrite, Path: name}.fail(err)
	}
	n.open++
	n.perm = perm.Perm()
	return &memFile{mem: m, name: name, node: n, writable: true, over: true}, nil
}

func (m *Mem) OverwriteFrom() int64 { return 1 }

func (f *memFile) Truncate(size int64) error {
	return f.mem.mutate(Op{Kind: OpTruncate, Path: f.name, Size: size}, func() error {
		switch {
		case f.closed:
			return fs.ErrClosed
		case size < int64(f.at):
			return errors.New("it would cut what was written")
		case size >= int64(len(f.node.data)):
			return nil // it is only used to cut
		}
		f.keepOld()
		f.mem.used -= int64(len(f.node.data)) - size
		f.node.data = f.node.data[:size]
		return nil
	})
}

// keepOld keeps the bytes of before, which clones of a crash may share.
func (f *memFile) keepOld() {
	if n := f.node; n.old == nil {
		n.old = &oldBytes{data: n.data, durable: n.durable}
		n.data = slices.Clone(n.data)
	}
}

// oldBytes is what a file was before it was written over: its first durable
// bytes are what a crash leaves of it for certain.
type oldBytes struct {
	data    []byte
	durable int
}

// mixture is what a crash may leave of a file that is written over: each page
// is the new one or the old one, the length too.
func (c *crash) mixture(file *node) []byte {
	if c.keep >= 1 {
		return slices.Clone(file.data)
	}
	before := file.old.data[:file.old.durable]
	size := len(before)
	if c.survives() {
		size = len(file.data)
	}
	data := make([]byte, size)
	copy(data, before)
	for start, end := 0, 0; start < size; start = end {
		end = min(start+pageSize, size)
		if start < len(file.data) && c.survives() {
			copy(data[start:end], file.data[start:])
		}
	}
	return data
}
