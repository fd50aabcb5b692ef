package vfs

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math"
)

// ReadFile returns the contents of a file of at most limit bytes. A larger one is ErrTooLarge,
// and no more than limit+1 bytes of it are read, whatever its reported size.
func ReadFile(fsys Reader, name string, limit int64) (data []byte, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	// Nothing was written, so Close has nothing to report.
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if m := info.Mode(); !m.IsRegular() && !m.IsDir() {
		return nil, Op{Kind: OpRead, Path: name}.fail(fmt.Errorf("%w: not a regular file", fs.ErrInvalid))
	}
	tooLarge := Op{Kind: OpRead, Path: name}.fail(fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit))
	if info.Size() > limit {
		return nil, tooLarge
	}
	var buf bytes.Buffer
	buf.Grow(int(info.Size()) + bytes.MinRead)
	// One byte more than allowed shows a file that grew or lied about its size.
	bound := min(limit, math.MaxInt64-1) + 1
	if _, err := buf.ReadFrom(io.NewSectionReader(f, 0, bound)); err != nil {
		return nil, err
	}
	if int64(buf.Len()) > limit {
		return nil, tooLarge
	}
	return buf.Bytes(), nil
}
