package vfs

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
	"time"
)

// memFile is an open file of a Mem, which guards its fields by its lock. Files
// only grow at the end: their durable bytes are always a prefix. (memOverwrite is
// the exception.)
type memFile struct {
	mem      *Mem
	name     string
	node     *node
	writable bool
	closed   bool
}

var _ File = (*memFile)(nil)

func (f *memFile) Write(p []byte) (int, error) {
	return f.report(len(p), func() (off int64, written int, err error) {
		off = int64(len(f.node.data))
		written, err = f.append(p)
		return off, written, err
	})
}

// report runs write under the lock and reports what it has written.
func (f *memFile) report(size int, write func() (off int64, written int, err error)) (int, error) {
	op := Op{Kind: OpWrite, Path: f.name, Size: int64(size)}
	written := 0
	report, err := f.mem.locked(func() (err error) {
		op.Offset, written, err = write()
		return err
	})
	if report != nil && (err == nil || written > 0) {
		report(Op{Kind: OpWrite, Path: f.name, Offset: op.Offset, Size: int64(written)})
	}
	if err != nil {
		return written, op.fail(err)
	}
	return written, nil
}

func (f *memFile) append(p []byte) (int, error) {
	if f.closed {
		return 0, fs.ErrClosed
	}
	if !f.writable {
		return 0, syscall.EBADF
	}
	var full error
	if m := f.mem; m.capacity >= 0 && int64(len(p)) > m.capacity-m.used {
		p = p[:max(0, m.capacity-m.used)]
		full = syscall.ENOSPC
	}
	f.node.data = append(f.node.data, p...)
	f.node.modTime = time.Now()
	f.mem.used += int64(len(p))
	return len(p), full
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	op := Op{Kind: OpRead, Path: f.name, Offset: off, Size: int64(len(p))}
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	switch {
	case f.closed:
		return 0, op.fail(fs.ErrClosed)
	case f.node.isDir():
		return 0, op.fail(syscall.EISDIR)
	case off < 0:
		return 0, op.fail(errors.New("negative offset"))
	}
	n := copy(p, f.node.data[min(off, int64(len(f.node.data))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) Sync() error {
	return f.mem.mutate(Op{Kind: OpSync, Path: f.name}, func() error {
		if f.closed {
			return fs.ErrClosed
		}
		if f.node.isDir() {
			f.mem.pending.commit(f.node)
		}
		f.node.durable, f.node.old = len(f.node.data), nil
		return nil
	})
}

func (f *memFile) Stat() (fs.FileInfo, error) {
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	if f.closed {
		return nil, Op{Kind: OpStat, Path: f.name}.fail(fs.ErrClosed)
	}
	return f.node.info(f.name), nil
}

func (f *memFile) Close() error {
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	if f.closed {
		return Op{Kind: OpClose, Path: f.name}.fail(fs.ErrClosed)
	}
	f.closed = true
	f.node.open--
	if f.node.unlinked {
		f.mem.release(f.node)
	}
	return nil
}
