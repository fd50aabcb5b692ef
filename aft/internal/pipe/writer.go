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

// gather is the length in bytes up to which the two parts of a message are put
// together for one system call.
const gather = 4 << 10

// TryWrite writes head and body, or as much of them as there is room for, and
// tells how many bytes that were.
func (w *Writer) TryWrite(head, body []byte) (int, error) {
	if w.closed {
		return 0, ErrClosed
	}
	if w.ring == nil {
		return w.writeSocket(head, body)
	}
	total := len(head) + len(body)
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
		free = min(free, step)
		k := min(free, len(head))
		if k > 0 {
			w.ring.put(head[:k])
			head = head[k:]
		}
		m := min(free-k, len(body))
		w.ring.put(body[:m])
		body = body[m:]
		done += k + m
		w.ring.publish()
		if quiet += k + m; quiet >= int(w.ring.size/4) {
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

func (w *Writer) writeSocket(head, body []byte) (int, error) {
	if len(head) > 0 && len(body) > 0 && len(head)+len(body) <= gather {
		w.scratch = append(append(w.scratch[:0], head...), body...)
		head, body = w.scratch, nil
	}
	done := 0
	for _, p := range [2][]byte{head, body} {
		for len(p) > 0 {
			n, err := w.sock.tryWrite(p)
			done += n
			if err != nil {
				return done, fmt.Errorf("%w: %w", ErrBroken, err)
			}
			if n == 0 {
				return done, nil
			}
			p = p[n:]
		}
	}
	return done, nil
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
