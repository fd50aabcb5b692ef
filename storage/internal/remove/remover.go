package remove

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/craft-go/craft/storage"
)

// Placement is what a Remover asks of whoever knows where things are.
type Placement interface {
	// MayFlush reports whether a rank may be copying the version to the home.
	MayFlush(id storage.ID) bool
	// Cancel tells a rank not to heal the version any more, and not to copy it to the
	// home. Of a dead one it is no error: it writes nothing.
	Cancel(ctx context.Context, rank int, id storage.ID) error
	// Drop deletes what a node has of the version.
	Drop(ctx context.Context, node int, id storage.ID) error
	// Dropped is told that the nodes have nothing of the version any more.
	Dropped(id storage.ID)
}

// Options of a Remover.
type Options struct {
	Ranks, Nodes int // of the job
	Log          *slog.Logger
}

// Remover deletes versions from the nodes, on rank 0. Its methods may be called concurrently.
type Remover struct {
	Options

	placement Placement

	mu sync.Mutex
	// heals are the versions that any rank may heal, or might before they were deleted.
	heals map[storage.ID]healState
}

// healState says whether a version may be healed.
type healState int

const (
	mayHeal healState = iota // any rank may
	revoked                  // it is deleted; not all ranks have been told
	told                     // it is deleted, and they have
)

// New returns a Remover.
func New(p Placement, o Options) *Remover {
	return &Remover{Options: o, placement: p, heals: make(map[storage.ID]healState)}
}

// Healing notes that the ranks may heal a version.
func (r *Remover) Healing(id storage.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heals[id] = mayHeal
}

// Deleted reports whether a version that was to be healed is deleted.
func (r *Remover) Deleted(id storage.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	state, known := r.heals[id]
	return known && state != mayHeal
}

// atOnce is how many ranks are told something, or nodes delete something, at a time.
const atOnce = 64

// Drop deletes what the nodes have of a version, on all of them at once. What somebody may
// be working on is canceled before.
func (r *Remover) Drop(ctx context.Context, id storage.ID) error {
	err := each(r.Nodes, func(node int) error { return r.placement.Drop(ctx, node, id) })
	if err == nil {
		r.placement.Dropped(id)
	}
	return err
}

// Cancel withdraws a version from all ranks.
func (r *Remover) Cancel(ctx context.Context, id storage.ID) {
	r.mu.Lock()
	state, known := r.heals[id]
	heals := known && state != told
	if heals {
		r.heals[id] = revoked
	}
	r.mu.Unlock()
	if !heals && !r.placement.MayFlush(id) {
		return
	}
	if err := each(r.Ranks, func(rank int) error { return r.placement.Cancel(ctx, rank, id) }); err != nil {
		// If the deletion fails as well, the next attempt asks again.
		r.Log.Debug("a rank may still copy a version that is deleted", "version", id.Version, "error", err)
		return
	}
	if heals {
		r.mu.Lock()
		r.heals[id] = told
		r.mu.Unlock()
	}
}

// each does something for 0 to n-1 at the same time.
func each(n int, do func(i int) error) error {
	errs := make([]error, n)
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range n {
		g.Go(func() error {
			errs[i] = do(i)
			return nil
		})
	}
	_ = g.Wait()
	return errors.Join(errs...)
}
