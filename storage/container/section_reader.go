package container

import (
	"context"
	"fmt"
	"io"
)

// SectionReader reads the raw bytes of one section, verified. Its methods may
// be called concurrently.
type SectionReader struct {
	info   Info
	geom   geometry
	chunks []chunkRecord
	file   *Reader
	files  []*Reader // that chunks are in, by chunk; nil: all are in file
	kept   *kept
}

var _ io.ReaderAt = (*SectionReader)(nil)

// Info describes the section. Its slices must not be changed.
func (s *SectionReader) Info() Info { return s.info }

// ReadAt reads verified raw bytes from offset off of the section, in parallel
// where they cover several chunks. A part of a chunk costs the decoding of all
// of it, and the chunk decoded last is kept, so that small reads one after the
// other are fast.
//
// Wrong bytes are a *DamageError, a chunk of another file matches ErrElsewhere; errors of
// the file are wrapped. n counts the bytes before the first whole chunk, or part of one,
// that could not be read.
func (s *SectionReader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, invalidf("section %q: negative offset %d", s.info.Key, off)
	}
	if left := max(0, s.info.Size-off); int64(len(p)) > left {
		p = p[:left]
		err = io.EOF
	}
	n, readErr := s.readRange(context.Background(), p, off)
	if readErr != nil {
		err = readErr
	}
	return n, err
}

// readRange fills p, which lies within the section: a part of a chunk, whole
// chunks, a part of a chunk.
func (s *SectionReader) readRange(ctx context.Context, p []byte, off int64) (n int, err error) {
	for n < len(p) {
		at, rest := off+int64(n), p[n:]
		c, within := int(at/int64(s.geom.chunkSize)), int(at%int64(s.geom.chunkSize))
		whole := len(rest) / s.geom.chunkSize
		if at+int64(len(rest)) == s.info.Size {
			whole = len(s.chunks) - c
		} else if whole > 0 {
			rest = rest[:whole*s.geom.chunkSize]
		}
		if within == 0 && whole > 0 {
			err = s.readChunks(ctx, c, whole, [][]byte{rest})
		} else {
			rest = rest[:min(len(rest), s.geom.rawLen(c)-within)]
			err = s.readPart(ctx, rest, c, within)
		}
		if err != nil {
			return n, err
		}
		n += len(rest)
	}
	return n, nil
}

// readPart reads a part of chunk c by way of the kept chunk.
func (s *SectionReader) readPart(ctx context.Context, p []byte, c, within int) error {
	k := s.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	buf := k.buf
	if k.chunk != c || buf == nil {
		buf = k.room(s.geom.rawLen(c))
		if err := s.readChunks(ctx, c, 1, [][]byte{buf}); err != nil {
			return err
		}
		k.chunk = c
	}
	copy(p, buf[within:])
	return nil
}

func (s *SectionReader) readChunk(ctx context.Context, c int, dst memory) error {
	rec := &s.chunks[c]
	if rec.kind == kindElsewhere {
		return fmt.Errorf("container: section %q, chunk %d: %w", s.info.Key, c, ErrElsewhere)
	}
	return s.fileOf(c).decodeChunk(ctx, storedChunk{s.info.Key, c, rec}, dst)
}

// fileOf is the file that a chunk is in.
func (s *SectionReader) fileOf(c int) *Reader {
	if s.files == nil {
		return s.file
	}
	return s.files[c]
}

// ReadSpans reads the whole section into spans, whose lengths add up to its
// size, with as many goroutines as there are processors. Raw chunks are read
// directly into the spans; on an error their contents are unspecified.
func (s *SectionReader) ReadSpans(ctx context.Context, spans [][]byte) error {
	if n := totalLen(spans); n != s.info.Size {
		return invalidf("section %q has %d bytes, the memory to read it into has %d", s.info.Key, s.info.Size, n)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.readChunks(ctx, 0, len(s.chunks), spans)
}

// readChunks reads whole chunks into spans of exactly their length.
func (s *SectionReader) readChunks(ctx context.Context, first, count int, spans [][]byte) error {
	at := memoryCursor{spans: spans}
	if count == 1 {
		return s.readChunk(ctx, first, at.next(s.geom.rawLen(first)))
	}
	parts := make([]memory, count)
	for i := range parts {
		parts[i] = at.next(s.geom.rawLen(first + i))
	}
	return parallel(ctx, nil, count, func(ctx context.Context, i int) error {
		return s.readChunk(ctx, first+i, parts[i])
	})
}

// NewReader reads the section from its beginning to its end. It holds at most
// one chunk, and none where Read is given room for whole chunks. It starts nothing that
// outlives a Read. The errors are those of ReadAt, and that of ctx.
func (s *SectionReader) NewReader(ctx context.Context) io.Reader {
	own := *s
	own.kept = &kept{chunk: -1, own: true}
	return &sequential{s: &own, ctx: ctx}
}

type sequential struct {
	s   *SectionReader
	ctx context.Context
	off int64
	err error
}

func (q *sequential) Read(p []byte) (n int, err error) {
	if q.err != nil || len(p) == 0 {
		return 0, q.err
	}
	p = p[:min(int64(len(p)), q.s.info.Size-q.off)]
	if len(p) == 0 {
		return 0, io.EOF
	}
	n, q.err = q.s.readRange(q.ctx, p, q.off)
	q.off += int64(n)
	return n, q.err
}
