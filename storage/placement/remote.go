package placement

import (
	"context"
	"io/fs"
	"slices"
	"sync"

	"github.com/craft-go/craft/storage"
)

// readStreams is how many streams this rank keeps open at most, for reading, to
// one other rank. There are fewer places for streams than a restart may open
// parts, with what they refer to and with what parity needs: who held some and
// waited for one more could wait for ever. So an open part does not hold a stream,
// only a read from it does.
const readStreams = 4

// streamPool lends streams to one other rank to the parts that are open there.
type streamPool struct {
	mu     sync.Mutex
	change sync.Cond // something below has become possible
	open   int       // streams, those being opened too
	idle   []*remote // with a stream that nobody reads from, the longest idle first
}

func newStreamPool() *streamPool {
	l := &streamPool{}
	l.change.L = &l.mu
	return l
}

// remote is an open object of another node. Its stream is given up when others
// need one, and opened again by the next read.
type remote struct {
	pool *streamPool
	ctx  context.Context
	dial func() (storage.PartReader, error)
	size int64

	// The pool's lock guards these.
	stream  storage.PartReader // nil: none
	opening bool
	users   int // reads under way
	closed  bool
}

var _ storage.PartReader = (*remote)(nil)

func openRemote(ctx context.Context, l *streamPool, dial func() (storage.PartReader, error)) (*remote, error) {
	r := &remote{pool: l, ctx: ctx, dial: dial}
	stream, err := r.acquire()
	if err != nil {
		return nil, err
	}
	r.size = stream.Size()
	r.release()
	return r, nil
}

func (r *remote) Size() int64 { return r.size }

func (r *remote) ReadAt(p []byte, off int64) (int, error) {
	stream, err := r.acquire()
	if err != nil {
		return 0, err
	}
	defer r.release()
	return stream.ReadAt(p, off)
}

// acquire gets the part a stream and keeps it there until release.
func (r *remote) acquire() (storage.PartReader, error) {
	l := r.pool
	defer context.AfterFunc(r.ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.change.Broadcast()
	})()
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case r.closed:
			return nil, fs.ErrClosed
		case r.stream != nil:
			r.users++
			l.idle = slices.DeleteFunc(l.idle, func(other *remote) bool { return other == r })
			return r.stream, nil
		case r.ctx.Err() != nil:
			return nil, context.Cause(r.ctx)
		case !r.opening && (l.open < readStreams || len(l.idle) > 0):
			if err := r.open(); err != nil {
				return nil, err
			}
		default:
			l.change.Wait()
		}
	}
}

// open opens a stream, in the place of an idle one if there is no other.
func (r *remote) open() error {
	l := r.pool
	var old storage.PartReader
	if l.open < readStreams {
		l.open++
	} else {
		old, l.idle[0].stream = l.idle[0].stream, nil
		l.idle = l.idle[1:]
	}
	r.opening = true
	l.mu.Unlock()
	if old != nil {
		_ = old.Close() // all that was read from it was good
	}
	stream, err := r.dial()
	l.mu.Lock()
	r.opening = false
	if r.stream = stream; err != nil {
		r.stream = nil
		l.open--
	}
	l.change.Broadcast()
	return err
}

func (r *remote) release() {
	l := r.pool
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.users--; r.users == 0 {
		l.idle = append(l.idle, r)
		l.change.Broadcast()
	}
}

// Close is called when no read is under way.
func (r *remote) Close() error {
	l := r.pool
	l.mu.Lock()
	stream := r.stream
	r.stream, r.closed = nil, true
	if stream != nil {
		l.open--
		l.idle = slices.DeleteFunc(l.idle, func(other *remote) bool { return other == r })
	}
	l.change.Broadcast()
	l.mu.Unlock()
	if stream == nil {
		return nil
	}
	return stream.Close()
}
