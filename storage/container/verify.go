package container

import (
	"bytes"
	"context"
)

// extent is what one chunk takes of the file.
type extent struct {
	storedChunk
	raw int // its raw bytes
	gap int // bytes of padding before it
}

func (x *extent) len() int { return x.gap + int(x.rec.stored) }

// Verify reads every byte of the file, in parallel, and checks it. The errors are those of
// Open, and that of ctx. Chunks in the files of older versions are not read: VerifyReferences
// does that. Of several sources it checks the first, and looks for good bytes in the others:
// nil means that all bytes are good somewhere.
func (r *Reader) Verify(ctx context.Context) error { return r.VerifyAround(ctx, nil) }

// VerifyAround is Verify with around run in each goroutine that it starts; nil: nothing.
func (r *Reader) VerifyAround(ctx context.Context, around func(body func())) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// From the first source that is of this file: another file may be in the place of one before.
	again := &Reader{wanted: r.wanted, sources: r.sources}
	if err := again.readIndex(); err != nil {
		return err
	}
	if again.headerCRC != r.headerCRC || again.trailer != r.trailer {
		return &DamageError{Reason: "the file has changed since it was opened"}
	}
	list, _ := r.extents()
	units := readUnits(list)
	return parallel(ctx, around, len(units), func(ctx context.Context, i int) error {
		return r.verifyUnit(ctx, units[i])
	})
}

// extents lists the stored chunks in the order of the file, and the references.
func (r *Reader) extents() (stored, references []extent) {
	end := r.headerEnd
	for i := range r.x.entries {
		e := &r.x.entries[i]
		chunks := r.x.chunksOf(e)
		for c := range chunks {
			rec := &chunks[c]
			x := extent{storedChunk: storedChunk{e.key, c, rec}, raw: e.geom.rawLen(c)}
			if rec.here() {
				x.gap = int(rec.offset - end)
				end = rec.offset + int64(rec.stored)
				stored = append(stored, x)
			} else if rec.kind == kindReference {
				references = append(references, x)
			}
		}
	}
	return stored, references
}

// readUnits groups neighbours that are read at once: up to pieceSize, or one
// that is larger.
func readUnits(list []extent) [][]extent {
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

// verifyUnit checks chunks in the first source, and if that fails one by one in all of
// them, the first included: an error names the chunk that it is of.
func (r *Reader) verifyUnit(ctx context.Context, unit []extent) error {
	s, err := r.sources.get(0)
	if err == nil {
		err = s.verifyUnit(ctx, unit)
	}
	if err == nil || final(ctx, err) {
		return err
	}
	for _, x := range unit {
		if err := r.verifyExtent(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// verifyExtent checks padding and chunk by themselves: they may be good in
// different sources.
func (r *Reader) verifyExtent(ctx context.Context, x extent) error {
	if err := r.sources.try(ctx, func(s *source) error { return s.verifyPadding(&x) }); err != nil {
		return err
	}
	x.gap = 0
	return r.sources.try(ctx, func(s *source) error { return s.verifyUnit(ctx, []extent{x}) })
}

func (s *source) verifyPadding(x *extent) error {
	p := make([]byte, x.gap)
	if err := s.readFull(p, x.rec.offset-int64(x.gap), x.key); err != nil {
		return err
	}
	return x.checkPadding(p)
}

func (s *source) verifyUnit(ctx context.Context, unit []extent) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	need, raw := 0, 0
	for i := range unit {
		need += unit[i].len()
		if unit[i].rec.kind == kindLZ4 {
			raw = max(raw, unit[i].raw)
		}
	}
	if raw == 0 && need > pieceSize {
		if err := s.verifyPadding(&unit[0]); err != nil {
			return err
		}
		return s.readPieces(ctx, &unit[0].storedChunk, func([]byte) {})
	}
	buf, err := takeScratch(ctx, need+raw)
	if err != nil {
		return err
	}
	defer buf.release()
	stored, room := buf.b[:need], buf.b[need:]
	if err := s.readFull(stored, unit[0].rec.offset-int64(unit[0].gap), unit[0].key); err != nil {
		return err
	}
	for i := range unit {
		x := &unit[i]
		if err := x.checkPadding(stored[:x.gap]); err != nil {
			return err
		}
		p := stored[x.gap:x.len()]
		stored = stored[x.len():]
		var err error
		if x.rec.kind == kindLZ4 {
			err = x.unpack(p, room[:x.raw])
		} else {
			err = x.check(checksum(p))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *extent) checkPadding(p []byte) error {
	if !bytes.Equal(p, zeros[:len(p)]) {
		return &DamageError{Section: x.key, Offset: x.rec.offset - int64(x.gap), Reason: "padding before the section is not zero"}
	}
	return nil
}
