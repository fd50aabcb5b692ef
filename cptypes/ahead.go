package cptypes

import (
	"bufio"
	"io"
)

const (
	// smallRun: runs of fewer bytes are not worth a read each.
	smallRun = 16 << 10
	// readAhead is how many bytes are read at once where runs are small.
	readAhead = 1 << 20
)

// aheadReader serves small reads at ascending offsets from large ones.
type aheadReader struct {
	src *io.SectionReader
	buf *bufio.Reader // of what follows at
	at  int64
}

func newAheadReader(src io.ReaderAt, size int64) *aheadReader {
	section := io.NewSectionReader(src, 0, size)
	return &aheadReader{src: section, buf: bufio.NewReaderSize(section, int(min(size, readAhead)))}
}

func (r *aheadReader) ReadAt(p []byte, off int64) (int, error) {
	if gap := off - r.at; gap <= int64(r.buf.Buffered()) {
		_, _ = r.buf.Discard(int(gap)) // it is in the buffer
	} else {
		_, _ = r.src.Seek(off, io.SeekStart)
		r.buf.Reset(r.src)
	}
	n, err := io.ReadFull(r.buf, p)
	r.at = off + int64(n)
	return n, err
}
