package container

import (
	"errors"
	"fmt"
	"slices"
)

// Join makes one view of the parts of a split section, one from each file that
// may hold chunks of it. A chunk that several parts hold is read from the first
// of them.
//
// It returns a *DisagreeError if the parts are not parts of equal values, and an
// error that matches ErrElsewhere if none of them has some chunk.
func Join(parts []*SectionReader) (*SectionReader, error) {
	if len(parts) == 0 {
		return nil, invalidf("no parts to join")
	}
	first := parts[0]
	info := first.info
	for i, p := range parts[1:] {
		if what := differ(first, p); what != "" {
			return nil, &DisagreeError{Key: info.Key, Parts: [2]int{0, i + 1}, What: what}
		}
	}
	j := joint{missing: len(first.chunks), chunks: slices.Clone(first.chunks), home: make([]uint32, len(first.chunks))}
	for i := range j.chunks {
		j.chunks[i].kind = kindElsewhere
	}
	for i, p := range parts {
		if err := j.add(p); err != nil {
			return nil, &DisagreeError{Key: info.Key, Parts: [2]int{0, i}, What: err.Error()}
		}
	}
	if j.missing > 0 {
		c := slices.IndexFunc(j.chunks, func(r chunkRecord) bool { return r.kind == kindElsewhere })
		return nil, fmt.Errorf("container: section %q: chunk %d (and %d more) is in none of the %d parts: %w",
			info.Key, c, j.missing-1, len(parts), ErrElsewhere)
	}
	info.Stored, info.Refers, info.Split = 0, 0, false
	for i := range j.chunks {
		info.count(&j.chunks[i])
	}
	return newSectionReader(info, j.chunks, j.files, j.home), nil
}

// differ says in what two sections are not parts of one value; "" if they are.
func differ(a, b *SectionReader) string {
	x, y := &a.info, &b.info
	switch {
	case x.Key != y.Key:
		return fmt.Sprintf("key %q and %q", x.Key, y.Key)
	case x.Desc.Elem != y.Desc.Elem || x.Desc.Type != y.Desc.Type || !slices.Equal(x.Desc.Shape, y.Desc.Shape):
		return fmt.Sprintf("%s (%s) and %s (%s)", x.Desc, x.Desc.Type, y.Desc, y.Desc.Type)
	case x.Size != y.Size:
		return fmt.Sprintf("size %d and %d bytes", x.Size, y.Size)
	case x.ChunkSize != y.ChunkSize:
		return fmt.Sprintf("chunk size %d and %d bytes", x.ChunkSize, y.ChunkSize)
	case x.Digest != y.Digest:
		return fmt.Sprintf("digest %#x and %#x: the value was not the same", x.Digest, y.Digest)
	}
	return ""
}

// joint collects the chunks of several parts.
type joint struct {
	chunks  []chunkRecord
	files   []*Reader
	home    []uint32 // per chunk, index of its file
	missing int
}

func (j *joint) add(p *SectionReader) error {
	base := uint32(len(j.files))
	j.files = append(j.files, p.files...)
	for c := range p.chunks {
		rec := &p.chunks[c]
		if rec.rawCRC != j.chunks[c].rawCRC {
			return errors.New("checksum of chunk " + fmt.Sprint(c))
		}
		if rec.kind == kindElsewhere || j.chunks[c].kind != kindElsewhere {
			continue
		}
		j.chunks[c] = *rec
		j.home[c] = base
		if p.home != nil {
			j.home[c] += p.home[c]
		}
		j.missing--
	}
	return nil
}
