package pipe

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// Writer is the end of a pipe that bytes go into. At most one method is called
// at a time, beside Run. None but Run blocks.
type Writer struct {
	to     uint32
	sock   *socket
	ring   *ring
	closed bool

	arm     chan struct{} // without ring: Sleep was called; capacity 1
	scratch []byte        // without ring: a short message in one piece
}

// gather is the length in bytes up to which the parts of a message are put
// together for one system call, if there are two; step it is of more.
const gather = 4 << 10

// TryWrite writes head, body and more, or as much of them as there is room for, and
// tells how many bytes that were.
func (w *Writer) TryWrite(head, body []byte, more ...[]byte) (int, error) {
	if w.closed {
		return 0, ErrClosed
	}
	total := len(head) + len(body)
	for _, p := range more {
		total += len(p)
	}
	if w.ring == nil {
		return w.writeSocket(parts{head, body, more}, total)
	}
	return w.writeRing(parts{head, body, more}, total)
}

func (w *Writer) writeRing(p parts, total int) (int, error) {
	// A reader that is woken for each step takes it and sleeps again, which costs more
	// than the copies.
	done, quiet := 0, 0
	for done < total {
		// Enough for this step is enough: the index of the other side is on a
		// cache line that it writes.
		free, ok := w.ring.room(min(total-done, step))
		if !ok {
			return done, fmt.Errorf("%w: wrong index in the memory shared with process %d", ErrBroken, w.to)
		}
		if free == 0 {
			break
		}
		free = min(free, step, total-done)
		for left := free; left > 0; {
			b := p.take(left)
			w.ring.put(b)
			left -= len(b)
		}
		done += free
		w.ring.publish()
		if quiet += free; quiet >= int(w.ring.size/4) {
			w.rouse()
			quiet = 0
		}
	}
	w.rouse()
	return done, nil
}

// rouse wakes the reader if it sleeps.
func (w *Writer) rouse() {
	if b := w.ring.board; b.consumerSleeps.Load() != 0 && b.consumerSleeps.Swap(0) != 0 {
		w.sock.ring(bell)
	}
}

func (w *Writer) writeSocket(p parts, total int) (int, error) {
	limit := gather
	if len(p.rest) > 0 {
		limit = step
	}
	done := 0
	for done < total {
		b := p.take(total - done)
		if p.fits(limit - len(b)) {
			w.scratch = append(w.scratch[:0], b...)
			for p.fits(limit - len(w.scratch)) {
				w.scratch = append(w.scratch, p.take(limit)...)
			}
			b = w.scratch
		}
		for len(b) > 0 {
			n, err := w.sock.tryWrite(b)
			done += n
			if err != nil {
				return done, fmt.Errorf("%w: %w", ErrBroken, err)
			}
			if n == 0 {
				return done, nil
			}
			b = b[n:]
		}
	}
	return done, nil
}

// parts are what is to be written, in their order.
type parts struct {
	first, second []byte
	rest          [][]byte
}

// skip leaves what is empty behind, if there is more.
func (p *parts) skip() {
	for len(p.first) == 0 && (len(p.second) > 0 || len(p.rest) > 0) {
		p.first, p.second = p.second, nil
		if len(p.rest) > 0 {
			p.second, p.rest = p.rest[0], p.rest[1:]
		}
	}
}

// take takes out up to n bytes that lie together: none if there are none.
func (p *parts) take(n int) []byte {
	p.skip()
	n = min(n, len(p.first))
	b := p.first[:n]
	p.first = p.first[n:]
	return b
}

// fits reports whether something is left, and of that the first part has up to n bytes.
func (p *parts) fits(n int) bool {
	p.skip()
	return len(p.first) > 0 && len(p.first) <= n
}

// Sleep says that TryWrite found no room and is not tried again until the
// function given to Run is called. It is false if there is room: then the caller
// does not sleep.
func (w *Writer) Sleep() bool {
	if w.closed {
		return true
	}
	if w.ring == nil {
		select {
		case w.arm <- struct{}{}:
		default:
		}
		return true
	}
	b := w.ring.board
	doze(&b.producerSleeps)
	if w.ring.own-b.head.Load() > w.ring.size/2 {
		return true
	}
	b.producerSleeps.Store(0)
	return false
}

// Wake takes Sleep back, so that the reader need not ring.
func (w *Writer) Wake() {
	if w.ring != nil && !w.closed && w.ring.board.producerSleeps.Load() != 0 {
		w.ring.board.producerSleeps.Store(0)
	}
}

// Run calls space when there is room again after Sleep. It returns nil when the
// reader has closed the pipe, ErrBroken when it has died, or ErrClosed.
func (w *Writer) Run(space func()) error {
	if w.ring == nil {
		stop := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { w.watchSpace(stop, space) })
		defer func() {
			close(stop)
			_ = w.sock.conn.SetWriteDeadline(past)
			watch.Wait()
		}()
	}
	for {
		left, err := w.sock.wait()
		switch {
		case left:
			return nil
		case errors.Is(err, net.ErrClosed):
			return ErrClosed
		case err != nil:
			return fmt.Errorf("%w: process %d: %w", ErrBroken, w.to, err)
		}
		if w.ring != nil {
			space()
		}
	}
}

// watchSpace calls space whenever the socket can be written after Sleep.
func (w *Writer) watchSpace(stop chan struct{}, space func()) {
	for {
		select {
		case <-stop:
			return
		case <-w.arm:
		}
		if err := w.sock.raw.Write(func(fd uintptr) bool { return ready(fd, unix.POLLOUT) }); err != nil {
			return
		}
		space()
	}
}

// Unsent is how many of the bytes written have not reached the other process's
// host: what is in a ring or in a local socket has.
func (w *Writer) Unsent() (n int, err error) {
	if w.closed {
		return 0, ErrClosed
	}
	tcp, is := w.sock.conn.(*net.TCPConn)
	if !is {
		return 0, nil
	}
	err = control(tcp, func(fd int) (err error) {
		n, err = inFlight(fd)
		return err
	})
	return n, err
}

// Close ends the pipe, and Run. The reader still gets what was written.
func (w *Writer) Close() {
	if w.closed {
		return
	}
	w.closed = true
	_ = w.sock.conn.Close()
	if w.ring != nil {
		w.ring.unmap()
	}
}
