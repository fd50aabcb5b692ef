package nonblock

import (
	"errors"
	"io"
	"syscall"
)

// Reader reads from a file or connection that is polled: it waits as those do, with their deadlines. It is for one goroutine
// at a time.
type Reader struct {
	raw  syscall.RawConn
	into []byte
	n    int
	err  error
	try  func(fd uintptr) bool // made once, so that nothing is allocated
}

// NewReader takes the way to a connection (syscall.Conn).
func NewReader(raw syscall.RawConn) *Reader {
	r := &Reader{raw: raw}
	r.try = func(fd uintptr) bool {
		for {
			r.n, r.err = Read(int(fd), r.into)
			if !errors.Is(r.err, syscall.EINTR) {
				return !errors.Is(r.err, syscall.EAGAIN)
			}
		}
	}
	return r
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	r.into, r.n, r.err = p, 0, nil
	err := r.raw.Read(r.try)
	r.into = nil
	switch {
	case err != nil:
		return 0, err
	case r.err != nil:
		return 0, r.err
	case r.n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return r.n, nil
}
