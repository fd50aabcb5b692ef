package container

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// bases are the files of older versions that a file refers to.
type bases struct {
	mu   sync.Mutex
	open func(version uint64) (*Reader, error)
	list []base // as long as the table of versions; nil: none was asked for
}

type base struct {
	r   *Reader
	err error
}

// Refs lists the versions whose files, of the same attempt and rank, have chunks
// of this one, oldest first.
func (r *Reader) Refs() []uint64 {
	versions := make([]uint64, len(r.x.refs))
	for i := range r.x.refs {
		versions[i] = r.x.refs[i].version
	}
	return versions
}

// ResolveBy says how to open the versions that Refs lists. open is called when
// a chunk is read that needs it, once for a version, by one goroutine at a time;
// what it returns must stay open as long as this file is read. Its error becomes
// that of the read, in a *ReferenceError; so does a *DamageError if that is not
// the file that was referred to, though it may look like it.
func (r *Reader) ResolveBy(open func(version uint64) (*Reader, error)) {
	r.bases.mu.Lock()
	defer r.bases.mu.Unlock()
	r.bases.open = open
}

// base returns the file of entry i of the table of versions.
func (r *Reader) base(i int) (*Reader, error) {
	b := &r.bases
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.list == nil {
		b.list = make([]base, len(r.x.refs))
	}
	known := &b.list[i]
	if known.r != nil || known.err != nil {
		return known.r, known.err
	}
	to := &r.x.refs[i]
	if b.open == nil {
		return nil, &ReferenceError{Version: to.version}
	}
	file, err := b.open(to.version)
	if err == nil {
		err = r.checkBase(to, file)
	}
	if err != nil {
		known.err = &ReferenceError{to.version, err}
		return nil, known.err
	}
	known.r = file
	return file, nil
}

// checkBase makes sure that a file is the one that an entry of the table of
// versions means.
func (r *Reader) checkBase(to *ref, file *Reader) error {
	damage := func(format string, args ...any) error {
		return &DamageError{Version: to.version, Reason: fmt.Sprintf(format, args...)}
	}
	want, got := &r.header, &file.header
	switch {
	case got.Name != want.Name || got.Attempt != want.Attempt || got.Version != to.version || got.Rank != want.Rank || got.Size != want.Size:
		return damage("it is of checkpoint %q, attempt %x, version %d, rank %d of %d, wanted is one of %q, %x, %d, %d of %d",
			got.Name, got.Attempt, got.Version, got.Rank, got.Size, want.Name, want.Attempt, to.version, want.Rank, want.Size)
	case file.headerCRC != to.headerCRC || file.trailer.footerCRC != to.footerCRC:
		return damage("it has other contents than when version %d was written", want.Version)
	case to.begin < to.end && (to.begin < file.headerEnd || to.end > file.trailer.footerOffset):
		return damage("its chunks are from %d to %d, some of version %d are said to be from %d to %d",
			file.headerEnd, file.trailer.footerOffset, want.Version, to.begin, to.end)
	}
	return nil
}

// follow calls read with the file that a reference is to, and the record of the chunk
// there. An error says in which version it was.
func (r *Reader) follow(rec *chunkRecord, read func(file *Reader, there *chunkRecord) error) error {
	file, err := r.base(int(rec.ref))
	if err == nil {
		there := *rec
		there.kind, there.there, there.ref = rec.there, 0, 0
		err = read(file, &there)
	}
	if err == nil || errors.Is(err, ErrReference) {
		return err
	}
	version := r.x.refs[rec.ref].version
	if d, ok := err.(*DamageError); ok {
		in := *d
		in.Version = version
		return &in
	}
	return fmt.Errorf("file of version %d, which is referred to: %w", version, err)
}

// VerifyReferences reads the chunks that are in the files of older versions, in
// parallel, and checks them as Verify does those of this file. The errors are
// those of Verify, and of ResolveBy.
func (r *Reader) VerifyReferences(ctx context.Context) error {
	_, list := r.extents()
	return parallel(ctx, nil, len(list), func(ctx context.Context, i int) error {
		return r.follow(list[i].rec, func(file *Reader, there *chunkRecord) error {
			x := list[i]
			x.rec = there
			return file.verifyUnit(ctx, []extent{x})
		})
	})
}
