package container

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// file is where bytes are read from.
type file struct {
	r    io.ReaderAt
	size int64
}

// readFull reads len(p) bytes, all within the size of the file: if they are not
// there, the file has shrunk, which is damage. Other errors are passed on.
func (f file) readFull(p []byte, off int64, key string) error {
	for len(p) > 0 {
		n, err := f.r.ReadAt(p, off)
		if n == len(p) {
			return nil
		}
		switch {
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			return &DamageError{Section: key, Offset: off + int64(n), Reason: fmt.Sprintf("truncated: the file ended here, it had %d bytes", f.size)}
		case err != nil && key != "":
			return fmt.Errorf("container: reading section %q at offset %d: %w", key, off, err)
		case err != nil:
			return fmt.Errorf("container: reading at offset %d: %w", off, err)
		case n == 0:
			return fmt.Errorf("container: reading at offset %d: %w", off, io.ErrNoProgress)
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

const windowSize = 128 << 10

// window keeps the part of the file that was read last, so that neighbouring
// small values cost one read together.
type window struct {
	mu  sync.Mutex
	buf []byte
	off int64
}

// read reads like file.readFull, for small p.
func (w *window) read(f file, p []byte, off int64, key string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := off + int64(len(p))
	if off < w.off || end > w.off+int64(len(w.buf)) {
		n := int(min(windowSize, f.size-off))
		if n < len(p) { // not of this source, which is too short
			return f.readFull(p, off, key)
		}
		if cap(w.buf) < n {
			w.buf = make([]byte, n)
		}
		w.buf = w.buf[:n]
		w.off = off
		if err := f.readFull(w.buf, off, key); err != nil {
			// The bytes asked for may still be readable.
			w.buf = w.buf[:0]
			return f.readFull(p, off, key)
		}
	}
	copy(p, w.buf[off-w.off:])
	return nil
}
