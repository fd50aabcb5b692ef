package container

import (
	"context"
	"io"
)

// tailSize is what is read of the end of a file at first: mostly footer and
// trailer.
const tailSize = 32 << 10

// Reader is an open file. Its methods may be called concurrently.
type Reader struct {
	sources   *sources
	wanted    func(Header) error // nil: any file
	header    Header
	headerCRC uint32
	headerEnd int64
	trailer   trailer
	x         index
	byKey     map[string]int
	bases     bases
}

// Info describes a section.
type Info struct {
	Key       string
	Desc      Desc   // its slices must not be changed
	Size      int64  // raw bytes
	Stored    int64  // bytes in this file
	Refers    int64  // stored bytes in the files of older versions
	Chunks    int    // of the whole value
	ChunkSize int    // raw bytes of every chunk but the last
	Split     bool   // some chunks are in other ranks' files
	Digest    uint64 // of the whole raw value; equal for equal values and chunk sizes
}

// Open reads the index of a file of the given size in bytes and checks all of it but the
// chunks. Wrong bytes give a *DamageError, a newer format an error that matches
// ErrUnsupported; an error of r is wrapped.
func Open(r io.ReaderAt, size int64) (*Reader, error) {
	return OpenWanted(func(i int) (io.ReaderAt, int64, error) {
		if i > 0 {
			return nil, 0, io.EOF
		}
		return r, size, nil
	}, nil)
}

// OpenWanted opens a file that has several sources of the same bytes. What is
// damaged in the first one, or cannot be read there, is taken from the next one
// that has it, now and in all reads later. Sources are opened when they are
// needed: who opens them learns that something is wrong with those before.
//
// If no source has good bytes, the error is that of the first one if all are
// damaged, otherwise a *SourcesError, which does not match ErrDamaged.
//
// wanted recognises the file by its header: it returns nil, or why a source is
// another file, whose next source is then tried. nil: any file is wanted.
func OpenWanted(open Sources, wanted func(Header) error) (*Reader, error) {
	f := &Reader{wanted: wanted, sources: &sources{open: open}}
	f.sources.first = f.sources.openSource(0)
	if err := f.readIndex(); err != nil {
		return nil, err
	}
	return f, nil
}

// readIndex reads and checks everything but the chunks. A header that no other
// part fits may be that of another file: then the next source's is tried.
func (r *Reader) readIndex() error {
	return r.sources.try(context.Background(), func(s *source) error {
		h, encoded, err := s.readHeader()
		if err == nil && r.wanted != nil {
			err = r.wanted(h)
		}
		if err != nil {
			return err
		}
		r.header, r.headerCRC, r.headerEnd = h, headerChecksum(encoded), int64(len(encoded))
		of, known, err := r.findTrailer()
		if err != nil {
			return err
		}
		return r.findFooter(of, known)
	})
}

// findTrailer also returns where it has found it, and what it has read of the end of the
// footer there.
func (r *Reader) findTrailer() (of *source, known []byte, err error) {
	err = r.sources.try(context.Background(), func(s *source) error {
		if s.size < r.headerEnd+trailerSize {
			return &DamageError{Offset: s.size, Reason: "truncated: no trailer"}
		}
		p := make([]byte, min(tailSize, s.size-r.headerEnd))
		if err := s.readFull(p, s.size-int64(len(p)), ""); err != nil {
			return err
		}
		t, err := parseTrailer(p[len(p)-trailerSize:], s.size, r.headerEnd, r.headerCRC)
		if err == nil {
			r.trailer = t
			of, known = s, p[max(0, int64(len(p))-trailerSize-t.footerLen):len(p)-trailerSize]
		}
		return err
	})
	return of, known, err
}

func (r *Reader) findFooter(of *source, known []byte) error {
	t := &r.trailer
	return r.sources.try(context.Background(), func(s *source) error {
		footer, missing := make([]byte, t.footerLen), t.footerLen
		if s == of {
			missing -= int64(len(known))
			copy(footer[missing:], known)
		}
		if err := s.readFull(footer[:missing], t.footerOffset, ""); err != nil {
			return err
		}
		return r.useFooter(footer)
	})
}

func (r *Reader) useFooter(footer []byte) error {
	if checksum(footer) != r.trailer.footerCRC {
		return &DamageError{Offset: r.trailer.footerOffset, Reason: "footer: checksum"}
	}
	x, err := parseFooter(footer, &r.header, r.headerEnd, r.trailer.footerOffset)
	if err != nil {
		return err
	}
	byKey := make(map[string]int, len(x.entries))
	for i := range x.entries {
		key := x.entries[i].key
		if _, ok := byKey[key]; ok {
			return &DamageError{Section: key, Offset: r.trailer.footerOffset, Reason: "footer: key is there twice"}
		}
		byKey[key] = i
	}
	r.x, r.byKey = x, byKey
	return nil
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
		n.count(&chunks[i])
	}
	return n
}

// count enters a chunk.
func (n *Info) count(rec *chunkRecord) {
	switch rec.kind {
	case kindReference:
		n.Refers += int64(rec.stored)
	case kindElsewhere:
		n.Split = true
	default:
		n.Stored += int64(rec.stored)
	}
}

// Section finds a section by its key; false if there is none.
func (r *Reader) Section(key string) (*SectionReader, bool) {
	i, ok := r.byKey[key]
	if !ok {
		return nil, false
	}
	e := &r.x.entries[i]
	return &SectionReader{info: r.info(e), geom: e.geom, chunks: r.x.chunksOf(e), file: r, kept: &kept{chunk: -1}}, true
}
