package container

import (
	"context"

	"github.com/pierrec/lz4/v4"
)

// pieceSize is how much is read at once, so that the checksum finds it still in
// the cache.
const pieceSize = 512 << 10

// decodeChunk reads chunk c of a section into dst, which has its raw length,
// and verifies it.
func (r *Reader) decodeChunk(ctx context.Context, key string, c int, rec *chunkRecord, dst memory) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if rec.kind == kindLZ4 {
		return r.decodeLZ4(ctx, key, c, rec, dst)
	}
	p, ok := dst.contiguous()
	if ok && len(p) < smallChunk {
		if err := r.window.read(r.file, p, rec.offset, key); err != nil {
			return err
		}
		if checksum(p) != rec.crc {
			return r.chunkDamage(key, c, rec, "checksum")
		}
		return nil
	}
	if dst.fragmented() {
		return r.decodeScattered(ctx, key, c, rec, dst)
	}
	crc, off := uint32(0), rec.offset
	for p := range dst.pieces() {
		for len(p) > 0 {
			part := p[:min(len(p), pieceSize)]
			if err := r.readFull(part, off, key); err != nil {
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
		return r.chunkDamage(key, c, rec, "checksum")
	}
	return nil
}

// decodeScattered reads a raw chunk into many small pieces of memory.
func (r *Reader) decodeScattered(ctx context.Context, key string, c int, rec *chunkRecord, dst memory) error {
	s, err := takeScratch(ctx, min(dst.n, pieceSize))
	if err != nil {
		return err
	}
	defer s.release()
	to := memoryCursor{dst.spans, dst.skip}
	crc := uint32(0)
	for done := 0; done < dst.n; {
		part := s.b[:min(len(s.b), dst.n-done)]
		if err := r.readFull(part, rec.offset+int64(done), key); err != nil {
			return err
		}
		crc = extendChecksum(crc, part)
		to.next(len(part)).scatter(part)
		done += len(part)
	}
	if crc != rec.crc {
		return r.chunkDamage(key, c, rec, "checksum")
	}
	return nil
}

func (r *Reader) decodeLZ4(ctx context.Context, key string, c int, rec *chunkRecord, dst memory) error {
	raw, ok := dst.contiguous()
	n := int(rec.stored)
	if !ok {
		n += dst.n
	}
	s, err := takeScratch(ctx, n)
	if err != nil {
		return err
	}
	defer s.release()
	stored := s.b[:rec.stored]
	if !ok {
		raw = s.b[rec.stored:]
	}
	if err := r.readFull(stored, rec.offset, key); err != nil {
		return err
	}
	if err := r.unpack(key, c, rec, stored, raw); err != nil {
		return err
	}
	if !ok {
		dst.scatter(raw)
	}
	return nil
}

// unpack checks the stored bytes of a compressed chunk and decompresses them
// into raw.
func (r *Reader) unpack(key string, c int, rec *chunkRecord, stored, raw []byte) error {
	if checksum(stored) != rec.crc {
		return r.chunkDamage(key, c, rec, "checksum")
	}
	if n, err := lz4.UncompressBlock(stored, raw); err != nil || n != len(raw) {
		return r.chunkDamage(key, c, rec, "no LZ4 block of the chunk's size")
	}
	if checksum(raw) != rec.rawCRC {
		return r.chunkDamage(key, c, rec, "checksum of the raw bytes")
	}
	return nil
}
