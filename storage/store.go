package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/craft-go/craft/storage/container"
)

// Store reads and writes the versions of one checkpoint on one level. One
// Write at a time; everything else may be called concurrently.
type Store struct {
	Driver

	encoder  *container.Encoder
	digests  []uint64
	progress atomic.Int64
}

// NewStore returns a store over driver that encodes as options say.
func NewStore(driver Driver, options container.Options) (*Store, error) {
	encoder, err := container.NewEncoder(options)
	if err != nil {
		return nil, err
	}
	return &Store{Driver: driver, encoder: encoder}, nil
}

// ChunkSize is how many bytes the chunks of the store's files have.
func (s *Store) ChunkSize() int { return s.encoder.ChunkSize() }

// Progress returns how many bytes the present Write, or the last one, has
// written so far. It may be called at any time.
func (s *Store) Progress() int64 { return s.progress.Load() }

// Written says what a Write did.
type Written struct {
	container.Stats
	// Digests of the sections, in their order; valid until the next Write.
	Digests []uint64
}

// Write writes this rank's part of the version that h names and publishes it.
// Before that it asks mayPublish, if that is not nil, which gets what has been
// written and whose error makes the write fail. When it fails, nothing of the
// part remains visible.
func (s *Store) Write(ctx context.Context, h container.Header, sections []container.Section, mayPublish func(Written) error) (Written, error) {
	s.progress.Store(0)
	id, part := Identity(h)
	done, err := s.write(ctx, id, part, h, sections, mayPublish)
	if err != nil {
		return Written{}, &PartError{Op: "write", ID: id, Part: part, Path: s.partPath(id, part), Err: err}
	}
	return done, nil
}

func (s *Store) write(ctx context.Context, id ID, part Part, h container.Header, sections []container.Section, mayPublish func(Written) error) (done Written, err error) {
	w, err := s.Create(ctx, id, part)
	if err != nil {
		return done, err
	}
	encoded := false
	defer func() {
		if !encoded { // also when a value's own code panics
			err = errors.Join(err, w.Abort())
		}
	}()
	if done.Stats, err = s.encoder.Encode(ctx, &counted{w, &s.progress}, h, sections); err != nil {
		return done, err
	}
	s.digests = s.encoder.AppendDigests(s.digests[:0])
	done.Digests = s.digests
	if mayPublish != nil {
		if err := mayPublish(done); err != nil {
			return done, err
		}
	}
	encoded = true
	return done, w.Commit()
}

// counted counts the bytes that go through.
type counted struct {
	w     io.Writer
	total *atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.total.Add(int64(n))
	return n, err
}

// File is an open part whose identity has been checked.
type File struct {
	*container.Reader

	blob PartReader
}

// Close closes the part; nothing may be read from it any more.
func (f *File) Close() error { return f.blob.Close() }

// Open opens a part and checks its header, its index and that it is what its
// place says it is. name is the checkpoint's. Errors that match ErrDamaged say
// that the bytes are wrong; all others that they could not be read now.
func (s *Store) Open(ctx context.Context, name string, id ID, part Part) (*File, error) {
	fail := func(err error) error {
		return &PartError{Op: "read", ID: id, Part: part, Path: s.partPath(id, part), Err: err}
	}
	blob, err := s.Driver.Open(ctx, id, part)
	if err != nil {
		return nil, fail(err)
	}
	reader, err := container.Open(blob, blob.Size())
	if err == nil {
		err = checkIdentity(reader.Header(), name, id, part)
	}
	if err != nil {
		return nil, fail(errors.Join(err, blob.Close()))
	}
	return &File{Reader: reader, blob: blob}, nil
}

// Header reads only the header of a part and checks its identity.
func (s *Store) Header(ctx context.Context, name string, id ID, part Part) (container.Header, error) {
	fail := func(err error) (container.Header, error) {
		return container.Header{}, &PartError{Op: "read", ID: id, Part: part, Path: s.partPath(id, part), Err: err}
	}
	blob, err := s.Driver.Open(ctx, id, part)
	if err != nil {
		return fail(err)
	}
	defer blob.Close()
	h, err := container.ReadHeader(blob, blob.Size())
	if err != nil {
		return fail(err)
	}
	if err := checkIdentity(h, name, id, part); err != nil {
		return fail(err)
	}
	return h, nil
}

// Verify reads every byte of a part against its checksums.
func (s *Store) Verify(ctx context.Context, name string, id ID, part Part) (container.Header, error) {
	f, err := s.Open(ctx, name, id, part)
	if err != nil {
		return container.Header{}, err
	}
	defer f.Close()
	if err := f.Reader.Verify(ctx); err != nil {
		return f.Header(), &PartError{Op: "verify", ID: id, Part: part, Path: s.partPath(id, part), Err: err}
	}
	return f.Header(), nil
}

func (s *Store) partPath(id ID, part Part) string {
	return s.Path(id) + string(os.PathSeparator) + part.String()
}

// Identity returns which part of which version a header belongs to.
func Identity(h container.Header) (ID, Part) {
	return ID{Version: h.Version, Attempt: h.Attempt}, Part{Rank: h.Rank, Size: h.Size}
}

// checkIdentity finds files that were copied, renamed or swapped by hand.
func checkIdentity(h container.Header, name string, id ID, part Part) error {
	gotID, gotPart := Identity(h)
	differ := func(what string, stored, place any) error {
		return &container.DamageError{
			Reason: fmt.Sprintf("the file says it is of %s %v, its place says %v: it was copied or renamed", what, stored, place),
		}
	}
	switch {
	case h.Name != name:
		return differ("checkpoint", h.Name, name)
	case gotID != id:
		return differ("version", gotID, id)
	case gotPart != part:
		return differ("part", gotPart, part)
	}
	return nil
}
