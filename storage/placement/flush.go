package placement

import (
	"context"
	"errors"
	"fmt"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/flush"
)

// Flush copies this rank's parts of a version to the home, if they are not there,
// and waits for that. All ranks call it and agree about the error.
func (s *Placement) Flush(ctx context.Context, id storage.ID) error {
	s.mu.Lock()
	all := s.cat.WithBases(id)
	for _, one := range all {
		s.sent[one] = true
	}
	s.mu.Unlock()
	for _, one := range all {
		if err := s.flusher.Await(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// Resume takes up the newest flush that an earlier job has begun, or not got to.
// Older ones are of no use when it is done.
func (s *Placement) Resume() {
	s.mu.Lock()
	var left storage.ID
	for _, id := range s.cat.IDs() {
		switch {
		case !s.cat.Complete(id):
		case s.cat.HomeAlone().Whole(id):
			left = storage.ID{}
		case s.cat.Plan(id).AtHome():
			left = id
		}
	}
	s.mu.Unlock()
	if !left.IsZero() {
		s.flusher.Add(left)
	}
}

// flushing is the placement of the flusher.
type flushing struct{ s *Placement }

var _ flush.Placement = flushing{}

// Parts lists the parts that this rank hosts and that are not at home.
func (f flushing) Parts(id storage.ID) (own []storage.Part) {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, part := range s.cat.Entry(id).Parts {
		if s.hostOf(id, part) == s.me && !s.cat.AtHome(id, part) {
			own = append(own, part)
		}
	}
	return own
}

func (f flushing) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	return f.s.openVerified(ctx, id, part)
}

func (f flushing) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	w, err := f.s.Home.Create(ctx, id, part)
	if err != nil {
		return nil, err
	}
	return flushed{w, f.s, ctx, id, part}, nil
}

// Flushed tells rank 0.
func (f flushing) Flushed(ctx context.Context, id storage.ID) error {
	return f.s.report(ctx, verbFlushed, id)
}

// flushed is a part on its way home.
type flushed struct {
	storage.PartWriter

	s    *Placement
	ctx  context.Context
	id   storage.ID
	part storage.Part
}

// Commit publishes the part, if this job may still write, and makes sure that rank 0 finds it.
func (w flushed) Commit() error {
	if err := w.s.MayWrite(); err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := w.PartWriter.Commit(); err != nil {
		return err
	}
	if err := w.s.checkPlace(w.ctx, w.id, w.part); err != nil {
		return err
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.cat.AddPart(w.id, w.part, catalog.Home)
	return nil
}

// openVerified opens the first source of a part whose bytes are all right.
func (s *Placement) openVerified(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	var failed attempts
	for _, src := range s.sources(id, part) {
		r, err := s.openSource(ctx, src, id, part)
		if err == nil {
			if err = s.verify(ctx, r, id, part); err == nil {
				return r, nil
			}
			err = errors.Join(err, r.Close())
			if ctx.Err() != nil {
				return nil, err
			}
			s.log.Warn("bytes of a part are wrong", "version", id.Version, "part", part.String(), "source", s.sourceName(src), "error", err)
		}
		failed.add(err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed.err(fmt.Sprintf("%v of %v", part, id))
}

// verify reads every byte of what is to be a part of a version.
func (s *Placement) verify(ctx context.Context, r storage.PartReader, id storage.ID, part storage.Part) error {
	c, err := container.Open(r, r.Size())
	if err == nil {
		err = storage.CheckIdentity(c.Header(), s.Name, id, part)
	}
	if err != nil {
		return err
	}
	return c.VerifyAround(ctx, s.service.Around)
}

// allFlushed is called on rank 0 when all ranks have flushed their parts.
func (s *Placement) allFlushed(id storage.ID) {
	s.mu.Lock()
	size := s.cat.Size(id)
	for rank := range size {
		s.cat.AddPart(id, storage.Part{Rank: rank, Size: size}, catalog.Home)
	}
	s.mu.Unlock()
	if s.Flushed != nil {
		s.Flushed(id)
	}
}
