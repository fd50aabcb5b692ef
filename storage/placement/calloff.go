package placement

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/flush"
)

// healState says whether a version may be healed.
type healState int

const (
	mayHeal healState = iota // any rank may
	revoked                  // it is deleted; not all ranks have been told
	told                     // it is deleted, and they have
)

// versionContext is the time for which a version is kept.
type versionContext struct {
	ctx context.Context
	end context.CancelCauseFunc
}

// keptFor is the context of what is done in the background for a version: nothing
// is said of what fails because the version is deleted. The lock is held.
func (s *Placement) keptFor(id storage.ID) context.Context {
	k, known := s.keeps[id]
	if !known {
		k.ctx, k.end = context.WithCancelCause(s.work)
		s.keeps[id] = k
	}
	return k.ctx
}

// unwanted is an error if this rank was healing a version that is deleted.
func (s *Placement) unwanted(id storage.ID) error {
	if s.deleted(id) { // rank 0 has forgotten the rest
		return flush.ErrCalledOff
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, known := s.keeps[id]; known && errors.Is(context.Cause(k.ctx), flush.ErrCalledOff) {
		return flush.ErrCalledOff
	}
	return nil
}

// isDeleted asks rank 0 whether a version has been deleted meanwhile: others may have
// been told before this rank, and have given up.
func (s *Placement) isDeleted(id storage.ID) bool {
	if s.root() {
		return s.deleted(id)
	}
	return errors.Is(s.call(s.work, 0, verbKept, id), storage.ErrNotFound)
}

// deleted tells, on rank 0, whether a version that was to be healed is deleted.
func (s *Placement) deleted(id storage.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, known := s.heals[id]
	return known && p != mayHeal
}

// callOff tells all ranks, before a version is deleted, not to heal it any more,
// and not to copy it to the home: what is begun after the deletion would stay. What
// a rank has begun before goes with the rest. Dead ranks write nothing.
func (s *Placement) callOff(ctx context.Context, id storage.ID) {
	s.mu.Lock()
	p, known := s.heals[id]
	heals := known && p != told
	if heals {
		s.heals[id] = revoked
	}
	flushes := s.mayBeAtHome(id) && !s.cat.HomeAlone().Whole(id)
	s.mu.Unlock()
	if !heals && !flushes {
		return
	}
	s.calledOff(id)
	var g errgroup.Group
	g.SetLimit(dropsAtOnce)
	for r := range s.nodes.of {
		if r == int(s.me) {
			continue
		}
		g.Go(func() error {
			if err := s.call(ctx, comm.Rank(r), verbCallOff, id); !errors.Is(err, comm.ErrProcFailed) {
				return err
			}
			return nil // it writes nothing any more
		})
	}
	if err := g.Wait(); err != nil { // if the deletion fails as well, the next attempt asks again
		s.log.Debug("a rank may still copy a version that is deleted", "version", id.Version, "error", err)
		return
	}
	if heals {
		s.mu.Lock()
		s.heals[id] = told
		s.mu.Unlock()
	}
}

// calledOff ends what this rank does in the background for a version.
func (s *Placement) calledOff(id storage.ID) {
	s.flusher.CallOff(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, known := s.keeps[id]; known {
		k.end(flush.ErrCalledOff)
	}
}
