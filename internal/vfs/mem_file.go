package vfs

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
	"time"
)

// memFile is an open file of a Mem, which guards its fields by its lock. Files only grow at the
// end, unless they are written over: their durable bytes are always a prefix.
type memFile struct {
	mem      *Mem
	name     string
	node     *node
	at       int // where the next Write begins
	writable bool
	over     bool // opened by Overwrite
	closed   bool
}

var _ OverwriteFile = (*memFile)(nil)

func (f *memFile) Write(p []byte) (n int, err error) {
	op := Op{Kind: OpWrite, Path: f.name}
	report, err := f.mem.locked(func() (err error) {
		op.Offset = int64(f.at)
		n, err = f.write(p)
		return err
	})
	if op.Size = int64(n); report != nil && (err == nil || n > 0) {
		report(op)
	}
	return n, op.fail(err)
}

func (f *memFile) write(p []byte) (n int, full error) {
	switch {
	case f.closed:
		return 0, fs.ErrClosed
	case !f.writable:
		return 0, syscall.EBADF
	case f.over:
		f.keepOld()
	}
	n = copy(f.node.data[f.at:], p)
	p = p[n:]
	if room := max(0, f.mem.capacity-f.mem.used); f.mem.capacity >= 0 && int64(len(p)) > room {
		p, full = p[:room], syscall.ENOSPC
	}
	f.node.data = append(f.node.data, p...)
	f.node.modTime = time.Now()
	f.mem.used += int64(len(p))
	n += len(p)
	f.at += n
	return n, full
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
