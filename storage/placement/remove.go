package placement

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/manifest"
)

// Prepare implements storage.Preparer, for rank 0: it prepares the home and
// deletes what keep does not want from all nodes, but for what is away.
func (s *Placement) Prepare(ctx context.Context, keep func(storage.Entry) bool) error {
	if !s.manifest.Stored() {
		// Before anything is on a node: without its identity nobody finds it again.
		if err := s.manifest.Announce(ctx, manifest.Announcement{}); err != nil {
			return err
		}
	}
	entries, err := s.List(ctx)
	if err != nil {
		return err
	}
	wanted := make(map[storage.ID]bool)
	for _, e := range entries {
		wanted[e.ID] = keep(e) || len(e.Away) > 0
	}
	if p, ok := s.Home.(storage.Preparer); ok {
		// A part at home may belong to a version that is on the nodes.
		if err := p.Prepare(ctx, func(e storage.Entry) bool { return wanted[e.ID] }); err != nil {
			return err
		}
	}
	for id, want := range wanted {
		if want {
			continue
		}
		err := s.drop(ctx, id)
		if ctx.Err() != nil || errors.Is(err, comm.ErrProcFailed) || errors.Is(err, comm.ErrRevoked) {
			return err
		}
		if err != nil { // there are others to restart from
			s.log.Warn("what the nodes have of a version that is not wanted is not deleted", "version", id.Version, "error", err)
		}
	}
	return nil
}

// Remove implements storage.Driver: it deletes a version everywhere. Rank 0
// calls it for all.
func (s *Placement) Remove(ctx context.Context, id storage.ID) error {
	home := s.MayBeAtHome(id)
	s.callOff(ctx, id)
	err := s.drop(ctx, id)
	if home {
		err = errors.Join(err, s.Home.Remove(ctx, id))
	}
	if err == nil {
		s.mu.Lock()
		s.forget(id)
		s.mu.Unlock()
	}
	return err
}

// MayBeAtHome reports whether the home can have anything of a version: it is not
// asked for one that was neither flushed nor spilled.
func (s *Placement) MayBeAtHome(id storage.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mayBeAtHome(id)
}

// mayBeAtHome is MayBeAtHome with the lock held.
func (s *Placement) mayBeAtHome(id storage.ID) bool {
	f, known := s.cat.Facts(id)
	return !known || f.Plan.AtHome() || s.cat.HomeAlone().Any(id) || s.sent[id]
}

// dropsAtOnce is how many nodes delete something at a time.
const dropsAtOnce = 64

// Drop deletes what the nodes have of a version that the home has, on all of them
// at once. Rank 0 calls it for all.
func (s *Placement) Drop(ctx context.Context, id storage.ID) error {
	s.callOff(ctx, id)
	return s.drop(ctx, id)
}

func (s *Placement) drop(ctx context.Context, id storage.ID) error {
	errs := make([]error, len(s.nodes.list))
	var g errgroup.Group
	g.SetLimit(dropsAtOnce)
	for i, n := range s.nodes.list {
		g.Go(func() error {
			errs[i] = s.unlessStuck(i, id, s.dropAt(ctx, n, id))
			return nil
		})
	}
	_ = g.Wait()
	failed := errors.Join(errs...)
	if failed == nil {
		s.mu.Lock()
		s.cat.LeaveNodes(id)
		s.mu.Unlock()
	}
	return failed
}

// unlessStuck is the error of a deletion on a node, but for a node that can change
// nothing any more: what it has stays there, which does no harm, until a job finds
// that it can be deleted.
func (s *Placement) unlessStuck(node int, id storage.ID, err error) error {
	if !stuck(err) {
		if err == nil {
			s.leftover[node].ease()
		}
		return err
	}
	n := s.nodes.list[node]
	s.tell(s.leftover[node].raise(refusal(err)), "what a node has of an old version is not deleted: it cannot be written to",
		"version", id.Version, "host", n.Host, "directory", n.Dir, "error", err)
	return nil
}

func (s *Placement) dropAt(ctx context.Context, n node, id storage.ID) error {
	if n.leader() == s.me {
		return s.local.Remove(ctx, id)
	}
	return s.call(ctx, n.leader(), verbRemove, id)
}
