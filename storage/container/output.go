package container

import "io"

const (
	// directSize is the length from which bytes are written where they are
	// rather than copied together with their neighbours.
	directSize = 64 << 10
	// outputSize bounds what is copied together.
	outputSize = 1 << 20
)

// output writes a file from its beginning to its end, in large pieces.
type output struct {
	w   io.Writer
	buf []byte // not yet written
	off int64  // in the file, buf included
}

func (o *output) reset(w io.Writer) { o.w, o.buf, o.off = w, o.buf[:0], 0 }

// put appends p, straight from where it is if it is large.
func (o *output) put(p []byte) error {
	if len(p) < directSize {
		return o.putCopy(p)
	}
	if err := o.flush(); err != nil {
		return err
	}
	o.off += int64(len(p))
	return o.write(p)
}

// putCopy appends p together with what was put before, if there is room.
func (o *output) putCopy(p []byte) error {
	if len(o.buf)+len(p) > outputSize {
		if len(p) >= directSize {
			return o.put(p)
		}
		if err := o.flush(); err != nil {
			return err
		}
	}
	o.buf = append(o.buf, p...)
	o.off += int64(len(p))
	return nil
}

var zeros [alignment]byte

// align puts zeros up to a multiple of alignment.
func (o *output) align() error { return o.putCopy(zeros[:-o.off&(alignment-1)]) }

func (o *output) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	err := o.write(o.buf)
	o.buf = o.buf[:0]
	return err
}

func (o *output) write(p []byte) error {
	n, err := o.w.Write(p)
	if err == nil && n != len(p) {
		err = io.ErrShortWrite
	}
	return err
}
