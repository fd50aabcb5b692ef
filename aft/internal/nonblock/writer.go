package nonblock

import (
	"errors"
	"syscall"
)

// Writer writes to a file or connection that is polled: it waits as those do, with their deadlines. It is for one goroutine
// at a time.
type Writer struct {
	raw  syscall.RawConn
	from []byte
	n    int
	err  error
	try  func(fd uintptr) bool // made once, so that nothing is allocated
}

// NewWriter takes the way to a connection (syscall.Conn).
func NewWriter(raw syscall.RawConn) *Writer {
	w := &Writer{raw: raw}
	w.try = func(fd uintptr) bool {
		for w.n < len(w.from) {
			n, err := Write(int(fd), w.from[w.n:])
			switch {
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return false
			case err != nil:
				w.err = err
				return true
			default:
				w.n += n
			}
		}
		return true
	}
	return w
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.from, w.n, w.err = p, 0, nil
	err := w.raw.Write(w.try)
	w.from = nil
	if err == nil {
		err = w.err
	}
	return w.n, err
}
