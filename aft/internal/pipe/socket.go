package pipe

import (
	"cmp"
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/craft-go/craft/aft/internal/nonblock"
)

// The single bytes that go over the socket of a pipe with a ring in both
// directions, and without one from the reader to the writer.
const (
	bell  byte = 1 // there is something to do
	leave byte = 2 // the reader goes, and not because it has failed
)

// socket is a connection that is read and written without waiting. Its methods
// are for one goroutine at a time, but for wait and close.
type socket struct {
	conn net.Conn
	raw  syscall.RawConn
	in   *nonblock.Reader

	// What goes in and out of the functions below, made once, so that nothing
	// is allocated for a call.
	buf    []byte
	n      int
	err    error
	recv   func(fd uintptr)
	send   func(fd uintptr)
	signal [1]byte
}

func newSocket(conn net.Conn) (*socket, error) {
	s := &socket{conn: conn}
	var err error
	s.raw, err = conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	s.in = nonblock.NewReader(s.raw)
	s.recv, s.send = s.call(nonblock.Read), s.call(nonblock.Write)
	return s, nil
}

// call makes a system call with the buffer, again if a signal has interrupted it.
func (s *socket) call(f func(fd int, p []byte) (int, error)) func(fd uintptr) {
	return func(fd uintptr) {
		for s.err = unix.EINTR; s.err == unix.EINTR; {
			s.n, s.err = f(int(fd), s.buf)
		}
	}
}

// tryRead reads what there is: io.EOF at the end, 0 without error if nothing.
func (s *socket) tryRead(p []byte) (int, error) {
	n, err := s.try(s.recv, p)
	switch {
	case errors.Is(err, unix.ECONNRESET):
		return 0, io.EOF // it died, or closed with bells unread: all data came before
	case err == nil && n == 0 && len(p) > 0:
		return 0, io.EOF
	case errors.Is(err, unix.EAGAIN):
		return 0, nil
	}
	return n, err
}

// tryWrite writes what there is room for.
func (s *socket) tryWrite(p []byte) (int, error) {
	n, err := s.try(s.send, p)
	if errors.Is(err, unix.EAGAIN) {
		return 0, nil
	}
	return n, err
}

func (s *socket) try(op func(uintptr), p []byte) (int, error) {
	s.buf, s.n, s.err = p, 0, nil
	err := s.raw.Control(op)
	s.buf = nil
	if err == nil {
		err = s.err
	}
	return max(s.n, 0), err
}

// ring sends a byte that wakes the other side. If there is no room for it, there
// are others under way. If the other side is gone, Run will notice.
func (s *socket) ring(what byte) {
	s.signal[0] = what
	_, _ = s.tryWrite(s.signal[:])
}

// wait blocks until a bell was rung, and takes all that were. left: the other
// side has said that it goes.
func (s *socket) wait() (left bool, err error) {
	var b [64]byte
	n, err := s.in.Read(b[:])
	for _, c := range b[:n] {
		left = left || c == leave
	}
	return left, err
}

// control has f do something to a connection that is open.
func control(c syscall.Conn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = f(int(fd)) })
	return cmp.Or(err, failed)
}

// ready reports whether the socket can be read or written, as events says, or has
// an error, without waiting.
func ready(fd uintptr, events int16) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: events}}
	n, err := unix.Poll(p, 0)
	return n > 0 || (err != nil && err != unix.EINTR)
}
