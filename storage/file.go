package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/craft-go/craft/storage/container"
)

// File is an open part whose identity has been checked. Where the driver knows
// several places with its bytes, what is damaged in one is taken from the next.
type File struct {
	*container.Reader

	blobs
	mu    sync.Mutex
	bases []*File // files of older versions that hold chunks of this one
}

// blobs are the places of the bytes of one part that have been opened.
type blobs struct{ first PartReader }

// place is a place whose bytes are read. What is lost of them turns out while they are
// read; for whoever reads that is damage.
type place struct{ PartReader }

func (p place) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.PartReader.ReadAt(b, off)
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return n, err
}

// source implements container.Sources.
func (b *blobs) source(i int) (io.ReaderAt, int64, error) {
	if i == 0 {
		return place{b.first}, b.first.Size(), nil
	}
	more, ok := b.first.(Redundant)
	if !ok {
		return nil, 0, io.EOF
	}
	r, err := more.Another()
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case r == nil:
		return nil, 0, io.EOF
	}
	return place{r}, r.Size(), nil
}

// Close closes the part; nothing may be read from it any more.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.first.Close()
	for _, base := range f.bases {
		err = errors.Join(err, base.Close())
	}
	f.bases = nil
	return err
}

// Open opens a part and checks its header, its index and that it is what its
// place says it is. name is the checkpoint's. Errors that match ErrDamaged say
// that the bytes are wrong; all others that they could not be read now. ctx is
// for as long as the file is open.
func (s *Store) Open(ctx context.Context, name string, id ID, part Part) (*File, error) {
	fail := func(err error) (*File, error) {
		return nil, s.failed("read", id, part, err)
	}
	blob, err := s.Driver.Open(ctx, id, part)
	if err != nil {
		return fail(err)
	}
	f := &File{blobs: blobs{first: blob}}
	wanted := func(h container.Header) error { return CheckIdentity(h, name, id, part) }
	if f.Reader, err = container.OpenWanted(f.source, wanted); err != nil {
		return fail(errors.Join(err, blob.Close()))
	}
	f.ResolveBy(func(version uint64) (*container.Reader, error) {
		base, err := s.Open(ctx, name, ID{Version: version, Attempt: id.Attempt}, part)
		if err != nil {
			return nil, err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.bases = append(f.bases, base)
		return base.Reader, nil
	})
	return f, nil
}

// Verify reads every byte of a part, and of what it refers to, against the
// checksums.
func (s *Store) Verify(ctx context.Context, name string, id ID, part Part) (container.Header, error) {
	f, err := s.Open(ctx, name, id, part)
	if err != nil {
		return container.Header{}, err
	}
	defer f.Close()
	if err = f.Reader.Verify(ctx); err == nil {
		err = f.VerifyReferences(ctx)
	}
	if err != nil {
		return f.Header(), s.failed("verify", id, part, err)
	}
	return f.Header(), nil
}
