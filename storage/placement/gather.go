package placement

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/nodelocal"
)

// gatherer brings parts to the nodes of the ranks that host them.
type gatherer struct {
	comm     *comm.Comm
	local    *nodelocal.Store
	finder   *finder
	register *register
	log      *slog.Logger
}

// gather is Placement.Gather. What is on a node as such is read from there, and from the
// home only what parity on the nodes does not give. A part for which its node has no room is
// rebuilt whenever it is read.
func (g *gatherer) gather(ctx context.Context, id storage.ID) error {
	all := query(g.register, func(v catalog.View) []storage.ID { return v.WithBases(id) })
	for _, one := range all {
		problem, err := g.gatherOne(ctx, one)
		switch {
		case err != nil || one == id:
			return errors.Join(problem, err)
		case problem != nil: // perhaps nothing of it is needed
			g.log.Warn("a part of a version that another one refers to cannot be rebuilt", "version", one.Version, "by", id.Version, "error", problem)
		}
	}
	return nil
}

// gatherOne does so for one version. problem is that of this rank's share.
func (g *gatherer) gatherOne(ctx context.Context, id storage.ID) (problem, err error) {
	missing := g.register.toRebuild(id)
	if len(missing) == 0 {
		return nil, nil
	}
	var refused bool
	var not []int // of missing: what is not on its node
	for i, m := range missing {
		if m.host != g.comm.Rank() {
			continue
		}
		if problem == nil {
			refused, problem = g.rebuild(ctx, id, m.part)
		}
		if problem == nil {
			continue
		}
		not = append(not, i)
		if ctx.Err() == nil && (refused || query(g.register, func(v catalog.View) bool { return v.AtHome(id, m.part) })) {
			g.log.Warn("a part cannot be rebuilt on its node, it is read from elsewhere", "version", id.Version, "part", m.part.String(), "directory", g.local.Dir(), "error", problem)
			problem = nil
		}
	}
	return problem, g.noteRebuilt(ctx, id, missing, not)
}

// orphan is a part that no node has, and the rank that is to get it to its own.
type orphan struct {
	part storage.Part
	host comm.Rank
}

// toRebuild lists, on all ranks alike, what is to be rebuilt and where.
func (r *register) toRebuild(id storage.ID) (missing []orphan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, part := range r.cat.Entry(id).Parts {
		if r.cat.OnNodes().Stored(id, part) {
			continue
		}
		if r.cat.OnNodes().Rebuildable(id, part) || !r.cat.AtHome(id, part) {
			missing = append(missing, orphan{part, r.hostOf(r.cat.View, id, part)})
		}
	}
	return missing
}

// noteRebuilt enters on all ranks what is on its node now: all but those parts that
// a rank has not got there.
func (g *gatherer) noteRebuilt(ctx context.Context, id storage.ID, missing []orphan, not []int) error {
	all, err := share(ctx, g.comm, "the parts that it rebuilds", not, nil)
	if err != nil {
		return err
	}
	failed := slices.Concat(all...)
	g.register.tell(func() {
		for i, m := range missing {
			if !slices.Contains(failed, i) {
				g.register.cat.AddPart(id, m.part, g.register.nodes.at(m.host))
			}
		}
	})
	return nil
}

// rebuild makes the file of a part anew on this node; refused: it is this node that
// does not take it, and not that what is left of the others cannot be read.
func (g *gatherer) rebuild(ctx context.Context, id storage.ID, part storage.Part) (refused bool, err error) {
	key := catalog.PartOf(id, part)
	if r, err := g.local.OpenObject(ctx, key); err == nil {
		return false, r.Close() // an earlier attempt has got it
	}
	began := time.Now()
	w, err := g.local.CreateObject(ctx, key)
	if err != nil {
		return true, err
	}
	own := &recalling{Writer: w}
	if err := erasure.RebuildPart(ctx, id, part, g.finder.members(id, part), own); err != nil {
		return own.err != nil, errors.Join(err, w.Abort())
	}
	if err := w.Commit(); err != nil {
		return true, err
	}
	g.log.Info("a lost part was rebuilt", "version", id.Version, "part", part.String(), "took", time.Since(began))
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
