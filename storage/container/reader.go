package container

import (
	"fmt"
	"io"
)

// tailSize is what is read of the end of a file at first: mostly footer and
// trailer.
const tailSize = 32 << 10

// Reader is an open file. Its methods may be called concurrently.
type Reader struct {
	file
	header    Header
	headerCRC uint32
	headerEnd int64
	trailer   trailer
	x         index
	byKey     map[string]int
	window    window
}

// Info describes a section.
type Info struct {
	Key       string
	Desc      Desc   // its slices must not be changed
	Size      int64  // raw bytes
	Stored    int64  // bytes in this file
	Chunks    int    // of the whole value
	ChunkSize int    // raw bytes of every chunk but the last
	Split     bool   // some chunks are in other ranks' files
	Digest    uint64 // of the whole raw value; equal for equal values and chunk sizes
}

// Open reads the index of a file of the given size in bytes and checks header,
// trailer and footer. The chunks are checked when they are read, and by Verify.
//
// Wrong bytes give a *DamageError, a newer format an error that matches
// ErrUnsupported; an error of r is wrapped.
func Open(r io.ReaderAt, size int64) (*Reader, error) {
	f := &Reader{file: file{r, size}}
	h, encoded, err := f.readHeader()
	if err != nil {
		return nil, err
	}
	f.header = h
	f.headerCRC = headerChecksum(encoded)
	f.headerEnd = int64(len(encoded))
	if size < f.headerEnd+trailerSize {
		return nil, &DamageError{Offset: size, Reason: "truncated: no trailer"}
	}
	footer, err := f.readFooter()
	if err != nil {
		return nil, err
	}
	f.x, err = parseFooter(footer, f.headerEnd, f.trailer.footerOffset)
	if err != nil {
		return nil, err
	}
	f.byKey = make(map[string]int, len(f.x.entries))
	for i := range f.x.entries {
		key := f.x.entries[i].key
		if _, ok := f.byKey[key]; ok {
			return nil, &DamageError{Section: key, Offset: f.trailer.footerOffset, Reason: "footer: key is there twice"}
		}
		f.byKey[key] = i
	}
	return f, nil
}

// readFooter reads and checks trailer and footer.
func (r *Reader) readFooter() ([]byte, error) {
	tail := make([]byte, min(tailSize, r.size-r.headerEnd))
	if err := r.readFull(tail, r.size-int64(len(tail)), ""); err != nil {
		return nil, err
	}
	t, err := parseTrailer(tail[len(tail)-trailerSize:], r.size, r.headerEnd, r.headerCRC)
	if err != nil {
		return nil, err
	}
	r.trailer = t
	tail = tail[:len(tail)-trailerSize]
	footer := tail[max(0, int64(len(tail))-t.footerLen):]
	if missing := t.footerLen - int64(len(footer)); missing > 0 {
		whole := make([]byte, t.footerLen)
		if err := r.readFull(whole[:missing], t.footerOffset, ""); err != nil {
			return nil, err
		}
		copy(whole[missing:], footer)
		footer = whole
	}
	if checksum(footer) != t.footerCRC {
		return nil, &DamageError{Offset: t.footerOffset, Reason: "footer: checksum"}
	}
	return footer, nil
}

// Header is the identity of the file. Its slices must not be changed.
func (r *Reader) Header() Header { return r.header }

// Sections lists the sections in the order of the file.
func (r *Reader) Sections() []Info {
	infos := make([]Info, len(r.x.entries))
	for i := range r.x.entries {
		infos[i] = r.info(&r.x.entries[i])
	}
	return infos
}

func (r *Reader) info(e *entry) Info {
	chunks := r.x.chunksOf(e)
	n := Info{
		Key:       e.key,
		Desc:      e.desc,
		Size:      e.geom.size,
		Chunks:    len(chunks),
		ChunkSize: e.geom.chunkSize,
		Digest:    uint64(e.digest),
	}
	for i := range chunks {
		n.Stored += int64(chunks[i].stored)
		n.Split = n.Split || chunks[i].kind == kindElsewhere
	}
	return n
}

// Section finds a section by its key; false if there is none.
func (r *Reader) Section(key string) (*SectionReader, bool) {
	i, ok := r.byKey[key]
	if !ok {
		return nil, false
	}
	e := &r.x.entries[i]
	return newSectionReader(r.info(e), r.x.chunksOf(e), []*Reader{r}, nil), true
}

func (r *Reader) chunkDamage(key string, c int, rec *chunkRecord, what string) error {
	return &DamageError{Section: key, Offset: rec.offset, Reason: fmt.Sprintf("chunk %d: %s", c, what)}
}
