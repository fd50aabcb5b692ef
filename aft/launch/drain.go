package launch

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/craft-go/craft/aft/internal/nonblock"
)

// maxDrained bounds what is read after finish: more than a pipe holds, so that a
// process that goes on writing holds nobody up.
const maxDrained = 2 << 20

// drainable reads from a pipe until its end, or, after finish, until
// nothing more is in it. Other processes may keep the writing end open.
type drainable struct {
	file     *os.File
	raw      syscall.RawConn
	in       io.Reader
	draining bool
	drained  int
}

func newDrainable(file *os.File) *drainable {
	raw, _ := file.SyscallConn() // there is one for every file that is open
	d := &drainable{file: file, raw: raw, in: nonblock.NewReader(raw)}
	if file.SetReadDeadline(time.Time{}) != nil { // it is not polled, and blocks: the scheduler has to know
		d.in = file
	}
	return d
}

// finish may be called by any goroutine: what is written from now on may be lost.
func (d *drainable) finish() { _ = d.file.SetReadDeadline(time.Unix(1, 0)) }

// await returns when there is something to be read, or the end.
func (d *drainable) await() {
	_ = d.raw.Read(readable) // the connection may end before
}

func (d *drainable) Read(p []byte) (int, error) {
	if !d.draining {
		n, err := d.in.Read(p)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		d.draining = true
	}
	n, err := now(d.whenever, nonblock.Read, p)
	if n == 0 || d.drained >= maxDrained {
		return 0, io.EOF
	}
	d.drained += n
	return n, err
}

// whenever is the way to the file that no deadline closes: finish may be called again.
func (d *drainable) whenever(call func(fd uintptr) bool) error {
	return d.raw.Control(func(fd uintptr) { call(fd) })
}

// now calls Read or Write of the system, with the way of a connection to it, and does not wait.
func now(on func(func(uintptr) bool) error, call func(int, []byte) (int, error), data []byte) (n int, err error) {
	rawErr := on(func(fd uintptr) bool {
		for {
			n, err = call(int(fd), data)
			if !errors.Is(err, syscall.EINTR) {
				return true
			}
		}
	})
	if rawErr != nil {
		return 0, rawErr
	}
	return max(n, 0), err
}
