package container

import (
	"errors"
	"fmt"
)

// stream makes the chunks of a section whose bytes come from a Source.
func (r *encoding) stream(i int) error {
	s := &r.sections[i]
	w := sourceWriter{r: r, section: i, small: r.small[:0]}
	defer func() { w.closed = true }() // also when the Source panics
	_, err := s.Source.WriteTo(&w)
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("container: section %q: %w", s.Key, err)
	}
	if w.err == nil {
		w.err = w.end()
	}
	if w.buf != nil { // after an error
		r.spare <- w.buf
	}
	r.small = w.small
	if w.err != nil {
		return w.err
	}
	return r.sized(i, w.total)
}

// sourceWriter cuts what a Source writes into chunks. Values of a few bytes,
// which are many, need no chunk buffer.
type sourceWriter struct {
	r       *encoding
	section int
	small   []byte  // what was written, until it is no longer small
	buf     *buffer // the current chunk; nil: none
	n       int     // bytes in buf
	chunk   int     // its number
	total   int64
	closed  bool
	err     error // the first; it sticks
}

var errWriteAfter = errors.New("container: write to a section after its WriteTo has returned")

func (w *sourceWriter) Write(p []byte) (int, error) {
	if w.closed {
		return 0, errWriteAfter
	}
	if w.err != nil {
		return 0, w.err
	}
	if w.buf == nil && w.chunk == 0 && w.r.isSmall(len(w.small)+len(p)) {
		w.small = append(w.small, p...)
		w.total += int64(len(p))
		return len(p), nil
	}
	written := 0
	for written < len(p) && w.err == nil {
		written += w.fill(p[written:])
	}
	w.total += int64(written)
	return written, w.err
}

// fill takes what fits into the current chunk and hands on the chunk if it is
// full.
func (w *sourceWriter) fill(p []byte) int {
	if w.buf == nil {
		if w.buf, w.err = acquire(w.r.ctx, w.r.spare); w.err != nil {
			return 0
		}
		w.n = copy(w.buf.grow(w.r.opts.ChunkSize), w.small)
		w.small = w.small[:0]
	}
	n := copy(w.buf.b[w.n:w.r.opts.ChunkSize], p)
	w.n += n
	if w.n == w.r.opts.ChunkSize {
		w.err = w.hand()
	}
	return n
}

func (w *sourceWriter) hand() error {
	own := w.buf
	w.buf = nil
	err := w.r.chunk(w.section, w.chunk, w.r.one.memory(own.b[:w.n]), loan{buf: own})
	w.chunk++
	w.n = 0
	return err
}

// end hands on what is left.
func (w *sourceWriter) end() error {
	if w.buf != nil {
		return w.hand()
	}
	if len(w.small) == 0 {
		return nil
	}
	return w.r.chunk(w.section, 0, w.r.one.memory(w.small), loan{})
}
