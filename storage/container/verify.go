package container

import (
	"bytes"
	"context"
)

// extent is what one chunk takes of the file.
type extent struct {
	entry *entry
	chunk int
	rec   *chunkRecord
	gap   int // bytes of padding before it
}

func (x *extent) len() int { return x.gap + int(x.rec.stored) }

// Verify reads every byte of the file, in parallel, and checks it: header,
// footer and trailer again, the chunks against their checksums, compressed ones
// unpacked too, and the padding. The errors are those of Open, and that of ctx.
func (r *Reader) Verify(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	again, err := Open(r.r, r.size)
	if err != nil {
		return err
	}
	if again.headerCRC != r.headerCRC || again.trailer != r.trailer {
		return &DamageError{Reason: "the file has changed since it was opened"}
	}
	units := together(r.extents())
	return parallel(ctx, len(units), func(ctx context.Context, i int) error {
		return r.verifyUnit(ctx, units[i])
	})
}

// extents lists the stored chunks in the order of the file.
func (r *Reader) extents() []extent {
	list := make([]extent, 0, len(r.x.chunks))
	end := r.headerEnd
	for i := range r.x.entries {
		e := &r.x.entries[i]
		chunks := r.x.chunksOf(e)
		for c := range chunks {
			if rec := &chunks[c]; rec.kind != kindElsewhere {
				list = append(list, extent{e, c, rec, int(rec.offset - end)})
				end = rec.offset + int64(rec.stored)
			}
		}
	}
	return list
}

// together groups neighbours that are read at once: up to pieceSize, or one
// that is larger.
func together(list []extent) [][]extent {
	var units [][]extent
	start, size := 0, 0
	for i := range list {
		if i > start && size+list[i].len() > pieceSize {
			units = append(units, list[start:i])
			start, size = i, 0
		}
		size += list[i].len()
	}
	if start < len(list) {
		units = append(units, list[start:])
	}
	return units
}

func (r *Reader) verifyUnit(ctx context.Context, unit []extent) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	need, raw := 0, 0
	for i := range unit {
		need += unit[i].len()
		if unit[i].rec.kind == kindLZ4 {
			raw = max(raw, unit[i].entry.geom.rawLen(unit[i].chunk))
		}
	}
	if raw == 0 && need > pieceSize {
		return r.verifyLarge(ctx, &unit[0])
	}
	s, err := takeScratch(ctx, need+raw)
	if err != nil {
		return err
	}
	defer s.release()
	stored, room := s.b[:need], s.b[need:]
	if err := r.readFull(stored, unit[0].rec.offset-int64(unit[0].gap), unit[0].entry.key); err != nil {
		return err
	}
	for i := range unit {
		x := &unit[i]
		if err := x.checkPadding(stored[:x.gap]); err != nil {
			return err
		}
		p := stored[x.gap:x.len()]
		stored = stored[x.len():]
		if x.rec.kind == kindLZ4 {
			if err := r.unpack(x.entry.key, x.chunk, x.rec, p, room[:x.entry.geom.rawLen(x.chunk)]); err != nil {
				return err
			}
		} else if checksum(p) != x.rec.crc {
			return r.chunkDamage(x.entry.key, x.chunk, x.rec, "checksum")
		}
	}
	return nil
}

// verifyLarge checks a raw chunk that is larger than pieceSize.
func (r *Reader) verifyLarge(ctx context.Context, x *extent) error {
	s, err := takeScratch(ctx, pieceSize)
	if err != nil {
		return err
	}
	defer s.release()
	padding := s.b[:x.gap]
	if err := r.readFull(padding, x.rec.offset-int64(x.gap), x.entry.key); err != nil {
		return err
	}
	if err := x.checkPadding(padding); err != nil {
		return err
	}
	crc, end := uint32(0), x.rec.offset+int64(x.rec.stored)
	for off := x.rec.offset; off < end; off += pieceSize {
		p := s.b[:min(pieceSize, end-off)]
		if err := r.readFull(p, off, x.entry.key); err != nil {
			return err
		}
		crc = extendChecksum(crc, p)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if crc != x.rec.crc {
		return r.chunkDamage(x.entry.key, x.chunk, x.rec, "checksum")
	}
	return nil
}

func (x *extent) checkPadding(p []byte) error {
	if !bytes.Equal(p, zeros[:len(p)]) {
		return &DamageError{Section: x.entry.key, Offset: x.rec.offset - int64(x.gap), Reason: "padding before the section is not zero"}
	}
	return nil
}
