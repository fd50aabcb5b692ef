package pipe

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// peekSize is the most that a Reader without ring can show at once.
const peekSize = 128 << 10

// Reader is the end of a pipe that bytes come out of. At most one method is
// called at a time, beside Run. None but Run blocks.
type Reader struct {
	from   uint32
	sock   *socket
	ring   *ring
	closed bool
	ended  atomic.Bool // the other side writes no more

	// Without ring: what was read ahead is buf[lo:hi], and what has ended the socket.
	buf    []byte
	lo, hi int
	err    error
}

// From is the number of the process at the other end, which has proved it.
func (r *Reader) From() uint32 { return r.from }

// Peek shows the bytes that are there, at least n if so many have come; n is at
// most 128 KiB. They are valid until the next call. With less than n, the error is
// io.EOF when no more will come.
func (r *Reader) Peek(n int) ([]byte, error) {
	if r.closed {
		return nil, ErrClosed
	}
	if r.ring == nil {
		return r.peekSocket(n)
	}
	ended := r.ended.Load() // before looking: what was published is older than the end
	b, ok := r.ring.stored(n)
	if !ok {
		return nil, fmt.Errorf("%w: wrong index in the memory shared with process %d", ErrBroken, r.from)
	}
	if len(b) < n && ended {
		return b, io.EOF
	}
	return b, nil
}

func (r *Reader) peekSocket(n int) ([]byte, error) {
	for r.hi-r.lo < n {
		if r.buf == nil {
			r.buf = make([]byte, peekSize)
		}
		if r.lo > 0 {
			r.hi = copy(r.buf, r.buf[r.lo:r.hi])
			r.lo = 0
		}
		got, err := r.read(r.buf[r.hi:])
		r.hi += got
		if got == 0 || err != nil {
			return r.buf[r.lo:r.hi], err
		}
	}
	return r.buf[r.lo:r.hi], nil
}

// read reads from the socket. Every error but the end is a broken pipe. It comes again: the system
// would say that it is the end.
func (r *Reader) read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.sock.tryRead(p)
	if err == nil {
		return n, nil
	}
	if err != io.EOF {
		err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	r.err = err
	r.ended.Store(true)
	return n, err
}

// Discard drops n bytes that Peek has shown.
func (r *Reader) Discard(n int) {
	if r.ring == nil {
		r.lo += n
		return
	}
	r.ring.take(n)
	if r.ring.rouse() {
		r.sock.ring(bell)
	}
}

// TryRead moves bytes that are there into p, straight from where they are.
func (r *Reader) TryRead(p []byte) (int, error) {
	if r.ring == nil {
		return r.tryReadSocket(p)
	}
	for done := 0; ; {
		b, err := r.Peek(1)
		n := copy(p[done:min(len(p), done+step)], b)
		if n > 0 {
			r.Discard(n)
			done += n
		}
		if n == 0 || done == len(p) {
			if done > 0 && errors.Is(err, io.EOF) {
				err = nil
			}
			return done, err
		}
	}
}

func (r *Reader) tryReadSocket(p []byte) (int, error) {
	if r.closed {
		return 0, ErrClosed
	}
	n := copy(p, r.buf[r.lo:r.hi])
	r.lo += n
	if n == len(p) {
		return n, nil
	}
	if len(p)-n < peekSize/4 { // short: read ahead
		b, err := r.peekSocket(1)
		more := copy(p[n:], b)
		r.lo += more
		if n+more > 0 {
			err = nil
		}
		return n + more, err
	}
	more, err := r.read(p[n:])
	if n+more > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n + more, err
}

// Sleep says that nobody looks for data until the function given to Run is
// called. It is false if there is some: then the caller does not sleep.
func (r *Reader) Sleep() bool {
	if r.ring == nil || r.closed {
		return true // the kernel wakes, always
	}
	b := r.ring.board
	doze(&b.consumerSleeps)
	if b.tail.Load() == r.ring.seen {
		return true
	}
	b.consumerSleeps.Store(0)
	return false
}

// Wake takes Sleep back, so that the writer need not ring.
func (r *Reader) Wake() {
	if r.ring != nil && !r.closed && r.ring.board.consumerSleeps.Load() != 0 {
		r.ring.board.consumerSleeps.Store(0)
	}
}

// Run calls data at its beginning, when bytes have come after Sleep, and once
// after the end. It returns nil after the end, or ErrClosed. data takes all bytes that
// there are and calls Sleep until it is true.
func (r *Reader) Run(data func()) error {
	if r.ring == nil {
		return r.runSocket(data)
	}
	for {
		data()
		if _, err := r.sock.wait(); err != nil {
			if errors.Is(err, net.ErrClosed) {
				return ErrClosed
			}
			r.ended.Store(true)
			data()
			return nil
		}
	}
}

func (r *Reader) runSocket(data func()) error {
	for {
		data()
		if r.ended.Load() {
			return nil
		}
		// The function does not call data: who closes the socket waits for it,
		// and may hold the lock that data needs.
		if err := r.sock.raw.Read(func(fd uintptr) bool { return ready(fd, unix.POLLIN) }); err != nil {
			return ErrClosed
		}
	}
}

// Close tells the writer that this process goes, and ends Run.
func (r *Reader) Close() {
	if !r.closed {
		r.sock.ring(leave)
		r.Abort()
	}
}

// Abort ends the pipe without a word, as death does.
func (r *Reader) Abort() {
	if r.closed {
		return
	}
	r.closed = true
	_ = r.sock.conn.Close()
	r.buf, r.lo, r.hi = nil, 0, 0
	if r.ring != nil {
		r.ring.unmap()
	}
}
