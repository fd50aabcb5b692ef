package erasure

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/internal/exchange"
)

// paritySender sends a part to the members that hold parity of it, block by block.
type paritySender struct {
	ctx     context.Context // the user's
	s       *Scheme
	c       *collector // of the version, for the parity that is held here
	streams []storage.PartWriter

	block  int64 // that is being sent
	stripe int64 // that it is in
	off    int   // in it
	size   int64
	digest uint32
	err    error
}

var _ storage.Borrower = (*paritySender)(nil)

// Create starts to protect a part of this rank, which gets the same bytes. Commit
// returns nil when all parity of the part is published. A *HolderError says at
// which rank it is not, a *GiverError in it because of which one. ctx is for the
// whole life of the writer. The other members must write the version too, or
// Skip: all wait for all. If Create fails, they have been told, or will be.
//
// A version is protected once: after a failure its next Create fails too. Where
// redundancy is to be made anew, a Scheme with another Prefix does it.
func (s *Scheme) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	if err := s.mine(part); err != nil {
		return nil, err
	}
	c, err := s.collector(version{id, part.Size})
	if err == nil {
		if err = c.admit(s.me); errors.Is(err, ErrInvalid) {
			return nil, err // the first one goes on
		}
	}
	var w *paritySender
	if err == nil {
		w, err = s.give(ctx, c, id, part)
	}
	if err != nil {
		s.task(func() { s.skip(id, part) })
		return nil, err
	}
	return w, nil
}

// give opens the streams to all other members at once.
func (s *Scheme) give(ctx context.Context, c *collector, id storage.ID, part storage.Part) (*paritySender, error) {
	w := &paritySender{ctx: ctx, s: s, c: c, streams: make([]storage.PartWriter, len(s.ranks)), stripe: s.layout.Stripe(s.me, 0)}
	h := s.header(s.me, c.version)
	header := appendHeader(nil, &h)
	err := w.each(func(member int) error {
		stream, err := s.config.Service.Create(ctx, comm.Rank(s.ranks[member]), s.name(id, part))
		if err != nil {
			return err
		}
		w.streams[member] = stream
		_, err = stream.Write(header)
		return err
	})
	if err != nil {
		w.err = err
		_ = w.Abort()
		return nil, err
	}
	return w, nil
}

// each does something for all other members at once.
func (w *paritySender) each(do func(member int) error) error {
	errs := make([]error, len(w.streams))
	var all sync.WaitGroup
	for member := range w.streams {
		if member != w.s.me {
			all.Go(func() { errs[member] = w.explain(member, do(member)) })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

// explain says at which rank something has failed. One that has closed its scheme gives nothing
// either.
func (w *paritySender) explain(member int, err error) error {
	if err == nil {
		return nil
	}
	id := w.c.version.id
	cause := findGiver(id, err)
	var other *GiverError
	if errors.Is(cause, exchange.ErrClosed) && !errors.As(cause, &other) {
		w.c.lost(member, cause)
	}
	return &HolderError{ID: id, Rank: w.s.ranks[member], Err: cause}
}

func (w *paritySender) Write(p []byte) (int, error) {
	err := w.Borrow(p)
	if back := w.GiveBack(); err == nil {
		err = back
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Borrow implements storage.Borrower.
func (w *paritySender) Borrow(p []byte) error {
	l := w.s.layout
	for len(p) > 0 && w.err == nil {
		piece := p[:min(len(p), l.Block-w.off)]
		p = p[len(piece):]
		w.digest = crc32.Update(w.digest, castagnoli(), piece)
		for row := range l.Parity {
			holder := l.Holder(w.stripe, row)
			if err := storage.Borrow(w.streams[holder], piece); err != nil && w.err == nil {
				w.err = w.explain(holder, err)
			}
		}
		w.size += int64(len(piece))
		if w.off += len(piece); w.off == l.Block {
			w.off = 0
			w.block++
			w.stripe = l.Stripe(w.s.me, w.block)
		}
	}
	return w.err
}

// GiveBack implements storage.Borrower.
func (w *paritySender) GiveBack() error {
	for member, stream := range w.streams {
		if stream == nil {
			continue
		}
		if err := storage.GiveBack(stream); err != nil && w.err == nil {
			w.err = w.explain(member, err)
		}
	}
	return w.err
}

// Commit ends all streams at once: each holder answers when it has the parts of
// all members, so one after the other would wait for itself.
func (w *paritySender) Commit() error {
	if w.err == nil && w.ctx.Err() != nil {
		w.err = ofVersion(w.c.version.id, comm.Withdrawn(w.ctx))
	}
	if err := w.err; err != nil {
		_ = w.Abort()
		return err
	}
	w.err = fs.ErrClosed
	// An error of this rank's own parity does not concern its part.
	_ = w.c.gave(w.s.me, w.size, w.digest)
	trailer := le.AppendUint32(le.AppendUint64(nil, uint64(w.size)), w.digest)
	return w.each(func(member int) error {
		stream := w.streams[member]
		if _, err := stream.Write(trailer); err != nil {
			_ = stream.Abort()
			return err
		}
		return stream.Commit()
	})
}

// reason is why the version is given up here.
func (w *paritySender) reason() error {
	var other *GiverError
	if errors.As(w.err, &other) {
		return other
	}
	err := ErrGivenUp
	if w.err != nil {
		err = fmt.Errorf("%w: %w", err, w.err)
	}
	return &GiverError{ID: w.c.version.id, Rank: w.s.ranks[w.s.me], Err: err}
}

// Abort ends the version for all members.
func (w *paritySender) Abort() error {
	if errors.Is(w.err, fs.ErrClosed) {
		return nil
	}
	s, id := w.s, w.c.version.id
	w.c.fail(w.reason())
	w.err = fs.ErrClosed
	err := w.each(func(member int) error {
		if w.streams[member] == nil {
			return nil
		}
		return w.streams[member].Abort()
	})
	if err != nil { // they throw it away all the same
		s.config.Log.Debug("aborting a part", "version", id.Version, "error", err)
	}
	return nil
}
