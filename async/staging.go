package async

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/craft-go/craft/internal/offheap"
)

// ErrAborted is returned to the copying side when the writing side has given up.
var ErrAborted = errors.New("the background write has ended early")

// Staging holds a private copy of the values of one version on its way to
// storage: one side copies values into it, the other takes them out in pieces,
// in the same order. Each side is one goroutine, Release is called by any.
//
// The memory is a ring. Writing starts when everything has been copied or when
// the ring is full, since it would slow down the copying, for which the program
// waits.
type Staging struct {
	limit int64 // bytes
	piece int

	mem   []byte
	most  int64         // bytes that a version took, at most
	space chan struct{} // a piece was released, or the writing side is gone
	ready chan struct{} // there is something to take out

	mu     sync.Mutex
	pieces []piece // from done on not yet released, oldest first
	done   int     // pieces in front that are released
	base   int64   // token of pieces[0]
	taken  int64   // token of the next piece to take out
	head   int64   // logical end of what was copied; its place is head % len(mem)
	next   int64   // logical begin of what was reserved last
	tail   int64   // logical begin of what is not released
	total  int64   // bytes copied
	flow   bool    // pieces may be taken out
	sealed bool    // nothing more will come
	gone   bool    // nobody takes out any more
	err    error   // of the copying side
}

// piece is a part of a value. end is where it ends in the ring.
type piece struct {
	bytes    []byte
	end      int64
	last     bool // of its value
	released bool
}

// NewStaging returns staging memory of at most limit bytes (0: as many as the
// values have) that hands out pieces of the given size. The limit must be at
// least MinStaging(piece).
func NewStaging(limit int64, piece int) (*Staging, error) {
	if limit != 0 && limit < MinStaging(piece) {
		return nil, fmt.Errorf("async: a staging limit of %d bytes is too small: allowed are 0 (no limit) and %d or more", limit, MinStaging(piece))
	}
	return &Staging{limit: cmp.Or(limit, math.MaxInt64), piece: piece}, nil
}

// MinStaging is the smallest limit with which copying and writing overlap.
func MinStaging(piece int) int64 { return 4 * int64(piece) }

// Begin makes the staging empty for a version of about want bytes. No side may
// be using it.
func (s *Staging) Begin(want int64) error {
	want = min(max(want, s.most, MinStaging(s.piece)), s.limit)
	if int64(len(s.mem)) < want {
		// Room to grow, and a whole piece for a value that writes itself. It costs
		// nothing until it is used.
		size := min(want+max(want/8, int64(s.piece)), s.limit)
		if err := s.Free(); err != nil {
			return err
		}
		mem, err := offheap.Allocate(int(size))
		if err != nil {
			return fmt.Errorf("async: %d bytes of staging memory: %w (set CRAFT_ASYNC_STAGING to use less)", size, err)
		}
		s.mem = mem
	}
	clear(s.pieces)
	s.pieces, s.done, s.base, s.taken = s.pieces[:0], 0, 0, 0
	s.head, s.next, s.tail, s.total = 0, 0, 0, 0
	s.flow, s.sealed, s.gone, s.err = false, false, false, nil
	s.space, s.ready = make(chan struct{}, 1), make(chan struct{}, 1)
	return nil
}

// Free gives the memory back. No side may be using it. Begin takes new memory.
func (s *Staging) Free() error {
	if s.mem == nil {
		return nil
	}
	mem := s.mem
	s.mem, s.pieces = nil, nil
	return offheap.Release(mem)
}

// Allocated is the number of bytes of memory that are held.
func (s *Staging) Allocated() int64 { return int64(len(s.mem)) }

// Copy copies a value. It waits for room if the ring is full.
func (s *Staging) Copy(ctx context.Context, spans [][]byte) error {
	left := int64(0)
	for _, p := range spans {
		left += int64(len(p))
	}
	var rest []byte // of the span that is being copied
	for {
		n := int(min(left, int64(s.piece)))
		dst, err := s.reserve(ctx, n)
		if err != nil {
			return err
		}
		for at := 0; at < n; {
			if len(rest) == 0 {
				rest, spans = spans[0], spans[1:]
			}
			k := copy(dst[at:], rest)
			rest = rest[k:]
			at += k
		}
		left -= int64(n)
		s.commit(dst, left == 0)
		if left == 0 {
			return nil
		}
	}
}

// CopyFrom copies a value that writes itself.
func (s *Staging) CopyFrom(ctx context.Context, value io.WriterTo) error {
	w := stagingWriter{s: s, ctx: ctx}
	_, err := value.WriteTo(&w)
	if err = cmp.Or(w.err, err); err == nil && w.dst == nil {
		w.dst, err = s.reserve(ctx, 0)
	}
	w.closed = true
	if err != nil {
		return err
	}
	s.commit(w.dst[:w.n], true)
	return nil
}

// stagingWriter fills pieces. A piece is handed on when it is full and more
// comes, so that the last one is known to be it.
type stagingWriter struct {
	s      *Staging
	ctx    context.Context
	dst    []byte
	n      int
	err    error
	closed bool
}

var errWriteAfter = errors.New("async: write to a value's copy after its WriteTo has returned")

func (w *stagingWriter) Write(p []byte) (int, error) {
	if w.closed {
		return 0, errWriteAfter
	}
	written := 0
	for written < len(p) && w.err == nil {
		if w.n == len(w.dst) { // full, or the first one
			if w.dst != nil {
				w.s.commit(w.dst, false)
			}
			w.n = 0
			w.dst, w.err = w.s.reserve(w.ctx, w.s.piece)
		}
		k := copy(w.dst[w.n:], p[written:])
		w.n += k
		written += k
	}
	return written, w.err
}

// reserve waits for n contiguous bytes of the ring, of which commit gives back those that
// were not needed.
func (s *Staging) reserve(ctx context.Context, n int) ([]byte, error) {
	for {
		s.mu.Lock()
		if s.gone {
			s.mu.Unlock()
			return nil, ErrAborted
		}
		if dst, ok := s.room(n); ok {
			s.mu.Unlock()
			return dst, nil
		}
		s.flow = true // full: let the writing begin
		s.mu.Unlock()
		signal(s.ready)
		select {
		case <-s.space:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// room finds n contiguous free bytes. The head moves when they are committed.
func (s *Staging) room(n int) ([]byte, bool) {
	size := int64(len(s.mem))
	if len(s.pieces) == 0 {
		s.head, s.tail = 0, 0 // all of it is free
	}
	s.next = s.head
	if at := s.next % size; at+int64(n) > size {
		s.next += size - at // skip what is left at the end
	}
	if s.next+int64(n)-s.tail > size {
		return nil, false
	}
	at := s.next % size
	return s.mem[at : at+int64(n) : at+int64(n)], true
}

// commit hands on the first bytes of what was reserved last.
func (s *Staging) commit(p []byte, last bool) {
	s.mu.Lock()
	s.head = s.next + int64(len(p))
	s.total += int64(len(p))
	s.most = max(s.most, s.total)
	s.pieces = append(s.pieces, piece{bytes: p, end: s.head, last: last})
	flow := s.flow
	s.mu.Unlock()
	if flow {
		signal(s.ready)
	}
}

// Seal ends the copying: with err == nil the version is whole, otherwise the
// writing side gets the error.
func (s *Staging) Seal(err error) {
	s.mu.Lock()
	s.sealed, s.flow, s.err = true, true, err
	s.mu.Unlock()
	signal(s.ready)
}

// Abandon ends the writing: whoever waits for room gets ErrAborted.
func (s *Staging) Abandon() {
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	signal(s.space)
}

// Next waits for the next piece and says whether it is the last of its value.
// The token is for Release.
func (s *Staging) Next(ctx context.Context) (p []byte, token int64, last bool, err error) {
	for {
		s.mu.Lock()
		if i := s.taken - s.base; s.flow && i < int64(len(s.pieces)) {
			next := s.pieces[i]
			token = s.taken
			s.taken++
			s.mu.Unlock()
			return next.bytes, token, next.last, nil
		}
		if s.sealed {
			err := s.err
			s.mu.Unlock()
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			return nil, 0, false, err
		}
		s.mu.Unlock()
		select {
		case <-s.ready:
		case <-ctx.Done():
			return nil, 0, false, context.Cause(ctx)
		}
	}
}

// Release says that a piece's memory may be used again.
func (s *Staging) Release(token int64) {
	s.mu.Lock()
	s.pieces[token-s.base].released = true
	before := s.done
	for s.done < len(s.pieces) && s.pieces[s.done].released {
		s.tail = s.pieces[s.done].end
		s.done++
	}
	freed := s.done > before
	if s.done == len(s.pieces) {
		s.base += int64(s.done)
		s.pieces, s.done = s.pieces[:0], 0
	}
	s.mu.Unlock()
	if freed {
		signal(s.space)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
