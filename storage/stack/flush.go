package stack

import (
	"context"
	"errors"
	"fmt"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// Flush copies this rank's parts of a version to the home, if they are not there,
// and waits for that. All ranks call it and agree about the error.
func (s *Stack) Flush(ctx context.Context, id storage.ID) error {
	s.mu.Lock()
	all := s.cat.WithBases(id)
	for _, one := range all {
		s.sent[one] = true
	}
	s.mu.Unlock()
	for _, one := range all {
		if err := s.flusher.await(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// Resume takes up the newest flush that an earlier job has begun, or not got to.
// Older ones are of no use when it is done.
func (s *Stack) Resume() {
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
		s.flusher.add(left)
	}
}

// flushOwn copies the parts that this rank hosts.
func (s *Stack) flushOwn(ctx context.Context, id storage.ID) error {
	for _, part := range s.hosted(id) {
		if err := s.flushPart(ctx, id, part); err != nil {
			if ctx.Err() == nil {
				s.log.Warn("a version is not on the parallel file system yet", "version", id.Version, "part", part.String(), "error", err)
			}
			return err
		}
	}
	if err := s.report(ctx, verbFlushed, id); err != nil && ctx.Err() == nil {
		s.log.Warn("nobody knows yet that a version is on the parallel file system", "version", id.Version, "error", err)
	}
	return nil
}

// hosted lists the parts of this rank that are not at home.
func (s *Stack) hosted(id storage.ID) []storage.Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	var own []storage.Part
	for _, part := range s.cat.Entry(id).Parts {
		if s.hostOf(id, part) == s.me && !s.cat.AtHome(id, part) {
			own = append(own, part)
		}
	}
	return own
}

func (s *Stack) flushPart(ctx context.Context, id storage.ID, part storage.Part) error {
	src, err := s.openVerified(ctx, id, part)
	if err != nil {
		return err
	}
	defer src.Close()
	w, err := s.Home.Create(ctx, id, part)
	if err != nil {
		return err
	}
	if err = s.flusher.copy(ctx, w, src); err == nil {
		err = s.MayWrite()
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := w.Commit(); err != nil {
		return err
	}
	if err := s.checkPlace(ctx, id, part); err != nil {
		return err
	}
	s.mu.Lock()
	s.cat.AddPart(id, part, catalog.Home)
	s.mu.Unlock()
	return nil
}

// openVerified opens the first source of a part whose bytes are all right.
func (s *Stack) openVerified(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
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
func (s *Stack) verify(ctx context.Context, r storage.PartReader, id storage.ID, part storage.Part) error {
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
func (s *Stack) allFlushed(id storage.ID) {
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
