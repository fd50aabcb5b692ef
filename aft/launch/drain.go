package launch

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// maxDrained bounds what is read after finish: more than a pipe holds, so that a
// process that goes on writing holds nobody up.
const maxDrained = 2 << 20

// drainable reads from a pipe or socket until its end, or, after finish, until
// nothing more is in it. Other processes may keep the writing end open.
type drainable struct {
	file     *os.File
	draining bool
	drained  int
}

// finish may be called by any goroutine: what is written from now on may be lost.
func (d *drainable) finish() { _ = d.file.SetReadDeadline(time.Unix(1, 0)) }

func (d *drainable) Read(p []byte) (int, error) {
	if !d.draining {
		n, err := d.file.Read(p)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		d.draining = true
		_ = d.file.SetReadDeadline(time.Time{})
	}
	n, err := d.readNow(p)
	if n <= 0 || d.drained >= maxDrained {
		return 0, io.EOF
	}
	d.drained += n
	return n, err
}

// readNow reads without waiting.
func (d *drainable) readNow(p []byte) (n int, err error) {
	raw, err := d.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	rawErr := raw.Read(func(fd uintptr) bool {
		for {
			n, err = syscall.Read(int(fd), p)
			if !errors.Is(err, syscall.EINTR) {
				return true
			}
		}
	})
	return n, errors.Join(rawErr, err)
}
