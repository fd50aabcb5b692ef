package container

import (
	"fmt"
	"slices"
)

// Join makes one view of the parts of a split section, one from each file that
// may hold chunks of it; the first that holds a chunk counts. The error is a *DisagreeError
// if they are not parts of equal values, and matches ErrElsewhere if none of them has some chunk.
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
	chunks, files := slices.Clone(first.chunks), make([]*Reader, len(first.chunks))
	var missing []int
	for c := range chunks {
		i := slices.IndexFunc(parts, func(p *SectionReader) bool { return p.chunks[c].kind != kindElsewhere })
		if i < 0 {
			missing = append(missing, c)
			continue
		}
		chunks[c], files[c] = parts[i].chunks[c], parts[i].fileOf(c)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("container: section %q: chunk %d (and %d more) is in none of the %d parts: %w",
			info.Key, missing[0], len(missing)-1, len(parts), ErrElsewhere)
	}
	info.Stored, info.Refers, info.Split = 0, 0, false
	for c := range chunks {
		info.count(&chunks[c])
	}
	return &SectionReader{info: info, geom: first.geom, chunks: chunks, files: files, kept: &kept{chunk: -1}}, nil
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
	for c := range a.chunks {
		if a.chunks[c].rawCRC != b.chunks[c].rawCRC {
			return fmt.Sprintf("checksum of chunk %d", c)
		}
	}
	return ""
}
