package placement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/erasure"
)

// Gather brings the parts of a version, and of those that it refers to, that are on no
// node, and that parity gives back, to the nodes of the ranks that host them: each rank
// does its share. It is collective; the ranks learn which parts are where now, and the
// caller agrees about the error with the others. What is on a node as such is read from
// there, and from the home only what parity on the nodes does not give. A part for which
// its node has no room is rebuilt whenever it is read.
func (s *Placement) Gather(ctx context.Context, id storage.ID) error {
	s.mu.Lock()
	all := s.cat.WithBases(id)
	s.mu.Unlock()
	for _, one := range all {
		problem, err := s.gather(ctx, one)
		switch {
		case err != nil || one == id:
			return errors.Join(problem, err)
		case problem != nil: // perhaps nothing of it is needed
			s.log.Warn("a part of a version that another one refers to cannot be rebuilt", "version", one.Version, "by", id.Version, "error", problem)
		}
	}
	return nil
}

// gather does so for one version. problem is that of this rank's share.
func (s *Placement) gather(ctx context.Context, id storage.ID) (problem, err error) {
	missing := s.toRebuild(id)
	if len(missing) == 0 {
		return nil, nil
	}
	var refused bool
	var not []int // of missing: what is not on its node
	for i, m := range missing {
		if m.host != s.me {
			continue
		}
		if problem == nil {
			refused, problem = s.rebuild(ctx, id, m.part)
		}
		if problem == nil {
			continue
		}
		not = append(not, i)
		if ctx.Err() == nil && (refused || s.isAtHome(id, m.part)) {
			s.log.Warn("a part cannot be rebuilt on its node, it is read from elsewhere", "version", id.Version, "part", m.part.String(), "directory", s.local.Dir(), "error", problem)
			problem = nil
		}
	}
	return problem, s.noteRebuilt(ctx, id, missing, not)
}

func (s *Placement) isAtHome(id storage.ID, part storage.Part) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cat.AtHome(id, part)
}

// orphan is a part that no node has, and the rank that is to get it to its own.
type orphan struct {
	part storage.Part
	host comm.Rank
}

// toRebuild lists, on all ranks alike, what is to be rebuilt and where.
func (s *Placement) toRebuild(id storage.ID) (missing []orphan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, part := range s.cat.Entry(id).Parts {
		if s.cat.OnNodes().Stored(id, part) {
			continue
		}
		if s.cat.OnNodes().Rebuildable(id, part) || !s.cat.AtHome(id, part) {
			missing = append(missing, orphan{part, s.hostOf(id, part)})
		}
	}
	return missing
}

// noteRebuilt enters on all ranks what is on its node now: all but those parts that
// a rank has not got there.
func (s *Placement) noteRebuilt(ctx context.Context, id storage.ID, missing []orphan, not []int) error {
	data, err := json.Marshal(not)
	if err != nil {
		return err
	}
	all, err := comm.AllgatherBytes(ctx, s.Comm, data)
	if err != nil {
		return err
	}
	failed := make(map[int]bool)
	for r, data := range all {
		var of []int
		if err := json.Unmarshal(data, &of); err != nil {
			return fmt.Errorf("what rank %d says of the parts that it rebuilds: %w", r, err)
		}
		for _, i := range of {
			failed[i] = true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range missing {
		if !failed[i] {
			s.cat.AddPart(id, m.part, s.nodes.at(m.host))
		}
	}
	return nil
}

// rebuild makes the file of a part anew on this node; refused: it is this node that
// does not take it, and not that what is left of the others cannot be read.
func (s *Placement) rebuild(ctx context.Context, id storage.ID, part storage.Part) (refused bool, err error) {
	key := storage.ObjectKey{ID: id, Kind: storage.KindPart, Part: part}
	if r, err := s.local.OpenObject(ctx, key); err == nil {
		return false, r.Close() // an earlier attempt has got it
	}
	began := time.Now()
	w, err := s.local.CreateObject(ctx, key)
	if err != nil {
		return true, err
	}
	own := &recalling{Writer: w}
	if err := erasure.RebuildPart(ctx, id, part, s.members(id, part), own); err != nil {
		return own.err != nil, errors.Join(err, w.Abort())
	}
	if err := w.Commit(); err != nil {
		return true, err
	}
	s.log.Info("a lost part was rebuilt", "version", id.Version, "part", part.String(), "took", time.Since(began))
	return false, nil
}

// recalling remembers what went wrong with a writer.
type recalling struct {
	io.Writer

	err error
}

func (r *recalling) Write(p []byte) (int, error) {
	n, err := r.Writer.Write(p)
	if err != nil {
		r.err = err
	}
	return n, err
}
