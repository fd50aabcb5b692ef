package cptypes

import "io"

const (
	// smallRun: runs of fewer bytes are not worth a read each.
	smallRun = 16 << 10
	// readAhead is how many bytes are read at once where runs are small.
	readAhead = 1 << 20
)

// aheadReader serves small reads at ascending offsets, with gaps that are small
// beside its window, from large ones.
type aheadReader struct {
	src  io.ReaderAt
	size int64  // bytes in src
	buf  []byte // what has been read
	at   int64  // offset of buf
}

func (r *aheadReader) ReadAt(p []byte, off int64) (int, error) {
	if off < r.at || off+int64(len(p)) > r.at+int64(len(r.buf)) {
		if err := r.fill(off, len(p)); err != nil {
			return 0, err
		}
	}
	return copy(p, r.buf[off-r.at:]), nil
}

// fill reads at least want bytes at off.
func (r *aheadReader) fill(off int64, want int) error {
	n := int(min(r.size-off, int64(max(readAhead, want))))
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	r.buf, r.at = r.buf[:n], off
	k, err := r.src.ReadAt(r.buf, off)
	if k < want {
		r.buf = r.buf[:0]
		return short(err, int64(k), int64(want))
	}
	r.buf = r.buf[:k]
	return nil
}
