package container

import (
	"context"

	"github.com/pierrec/lz4/v4"
)

// pieceSize is how much is read at once, so that the checksum finds it still in
// the cache.
const pieceSize = 512 << 10

// decodeChunk reads chunk c of a section into dst, which has its raw length,
// from wherever good bytes of it are.
func (r *Reader) decodeChunk(ctx context.Context, key string, c int, rec *chunkRecord, dst memory) error {
	if rec.kind == kindReference {
		base, there, err := r.follow(rec)
		if err == nil {
			err = base.decodeChunk(ctx, key, c, &there, dst)
		}
		return r.inBase(rec, err)
	}
	s, err := r.sources.get(0)
	if err == nil {
		err = s.decodeChunk(ctx, key, c, rec, dst)
	}
	if err == nil || !r.sources.more(ctx, err) {
		return err
	}
	return r.sources.rest(ctx, err, func(s *source) error { return s.decodeChunk(ctx, key, c, rec, dst) })
}

// decodeChunk reads a chunk from one source and verifies it.
func (s *source) decodeChunk(ctx context.Context, key string, c int, rec *chunkRecord, dst memory) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if rec.kind == kindLZ4 {
		return s.decodeLZ4(ctx, key, c, rec, dst)
	}
	p, ok := dst.contiguous()
	if ok && len(p) < smallChunk {
		if err := s.window.read(s.file, p, rec.offset, key); err != nil {
			return err
		}
		if checksum(p) != rec.crc {
			return chunkDamage(key, c, rec, "checksum")
		}
		return nil
	}
	if dst.fragmented() {
		return s.decodeScattered(ctx, key, c, rec, dst)
	}
	crc, off := uint32(0), rec.offset
	for p := range dst.pieces() {
		for len(p) > 0 {
			part := p[:min(len(p), pieceSize)]
			if err := s.readFull(part, off, key); err != nil {
				return err
			}
			crc = extendChecksum(crc, part)
			p, off = p[len(part):], off+int64(len(part))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if crc != rec.crc {
		return chunkDamage(key, c, rec, "checksum")
	}
	return nil
}

// decodeScattered reads a raw chunk into many small pieces of memory.
func (s *source) decodeScattered(ctx context.Context, key string, c int, rec *chunkRecord, dst memory) error {
	buf, err := takeScratch(ctx, min(dst.n, pieceSize))
	if err != nil {
		return err
	}
	defer buf.release()
	to := memoryCursor{dst.spans, dst.skip}
	crc := uint32(0)
	for done := 0; done < dst.n; {
		part := buf.b[:min(len(buf.b), dst.n-done)]
		if err := s.readFull(part, rec.offset+int64(done), key); err != nil {
			return err
		}
		crc = extendChecksum(crc, part)
		to.next(len(part)).scatter(part)
		done += len(part)
	}
	if crc != rec.crc {
		return chunkDamage(key, c, rec, "checksum")
	}
	return nil
}

func (s *source) decodeLZ4(ctx context.Context, key string, c int, rec *chunkRecord, dst memory) error {
	raw, ok := dst.contiguous()
	n := int(rec.stored)
	if !ok {
		n += dst.n
	}
	buf, err := takeScratch(ctx, n)
	if err != nil {
		return err
	}
	defer buf.release()
	stored := buf.b[:rec.stored]
	if !ok {
		raw = buf.b[rec.stored:]
	}
	if err := s.readFull(stored, rec.offset, key); err != nil {
		return err
	}
	if err := unpack(key, c, rec, stored, raw); err != nil {
		return err
	}
	if !ok {
		dst.scatter(raw)
	}
	return nil
}

// unpack checks the stored bytes of a compressed chunk and decompresses them
// into raw.
func unpack(key string, c int, rec *chunkRecord, stored, raw []byte) error {
	if checksum(stored) != rec.crc {
		return chunkDamage(key, c, rec, "checksum")
	}
	if n, err := lz4.UncompressBlock(stored, raw); err != nil || n != len(raw) {
		return chunkDamage(key, c, rec, "no LZ4 block of the chunk's size")
	}
	if checksum(raw) != rec.rawCRC {
		return chunkDamage(key, c, rec, "checksum of the raw bytes")
	}
	return nil
}
