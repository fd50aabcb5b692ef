package container

import (
	"context"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// pieceSize is how much is read at once, so that the checksum finds it still in
// the cache.
const pieceSize = 512 << 10

// storedChunk is a chunk of a section that is to be read.
type storedChunk struct {
	key string // of the section
	n   int    // its number in it
	rec *chunkRecord
}

func (c *storedChunk) damage(what string) error {
	return &DamageError{Section: c.key, Offset: c.rec.offset, Reason: fmt.Sprintf("chunk %d: %s", c.n, what)}
}

// check compares the checksum of the bytes that were read.
func (c *storedChunk) check(crc uint32) error {
	if crc != c.rec.crc {
		return c.damage("checksum")
	}
	return nil
}

// decodeChunk reads a chunk into dst, which has its raw length, from wherever good
// bytes of it are.
func (r *Reader) decodeChunk(ctx context.Context, c storedChunk, dst memory) error {
	if c.rec.kind == kindReference {
		return r.follow(c.rec, func(file *Reader, there *chunkRecord) error {
			return file.decodeChunk(ctx, storedChunk{c.key, c.n, there}, dst)
		})
	}
	return r.sources.try(ctx, func(s *source) error { return s.decodeChunk(ctx, &c, dst) })
}

// decodeChunk reads a chunk from one source and verifies it.
func (s *source) decodeChunk(ctx context.Context, c *storedChunk, dst memory) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.rec.kind == kindLZ4 {
		return s.decodeLZ4(ctx, c, dst)
	}
	if p, ok := dst.contiguous(); ok && len(p) < smallChunk {
		if err := s.window.read(s.file, p, c.rec.offset, c.key); err != nil {
			return err
		}
		return c.check(checksum(p))
	}
	if dst.fragmented() {
		to := memoryCursor{dst.spans, dst.skip}
		return s.readPieces(ctx, c, func(p []byte) { to.next(len(p)).scatter(p) })
	}
	crc, off := uint32(0), c.rec.offset
	for p := range dst.pieces() {
		for len(p) > 0 {
			part := p[:min(len(p), pieceSize)]
			if err := s.readFull(part, off, c.key); err != nil {
				return err
			}
			crc = extendChecksum(crc, part)
			p, off = p[len(part):], off+int64(len(part))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return c.check(crc)
}

// readPieces hands a raw chunk to use piece by piece.
func (s *source) readPieces(ctx context.Context, c *storedChunk, use func([]byte)) error {
	n := int(c.rec.stored)
	buf, err := takeScratch(ctx, min(n, pieceSize))
	if err != nil {
		return err
	}
	defer buf.release()
	crc := uint32(0)
	for done := 0; done < n; {
		part := buf.b[:min(len(buf.b), n-done)]
		if err := s.readFull(part, c.rec.offset+int64(done), c.key); err != nil {
			return err
		}
		crc = extendChecksum(crc, part)
		use(part)
		done += len(part)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return c.check(crc)
}

func (s *source) decodeLZ4(ctx context.Context, c *storedChunk, dst memory) error {
	raw, ok := dst.contiguous()
	n := int(c.rec.stored)
	if !ok {
		n += dst.n
	}
	buf, err := takeScratch(ctx, n)
	if err != nil {
		return err
	}
	defer buf.release()
	stored := buf.b[:c.rec.stored]
	if !ok {
		raw = buf.b[c.rec.stored:]
	}
	if err := s.readFull(stored, c.rec.offset, c.key); err != nil {
		return err
	}
	if err := c.unpack(stored, raw); err != nil {
		return err
	}
	if !ok {
		dst.scatter(raw)
	}
	return nil
}

// unpack checks the stored bytes of a compressed chunk and decompresses them
// into raw.
func (c *storedChunk) unpack(stored, raw []byte) error {
	if err := c.check(checksum(stored)); err != nil {
		return err
	}
	if n, err := lz4.UncompressBlock(stored, raw); err != nil || n != len(raw) {
		return c.damage("no LZ4 block of the chunk's size")
	}
	if checksum(raw) != c.rec.rawCRC {
		return c.damage("checksum of the raw bytes")
	}
	return nil
}
