package checkpoint

import (
	"context"
	"fmt"
	"time"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/manifest"
)

// manifestEvery is how often the manifest is written anew while versions are.
const manifestEvery = 10 * time.Second

// announceOnNodes says on rank 0 that there is a new version on the nodes.
func (u *upkeep) announceOnNodes(ctx context.Context, h container.Header, reached storage.Levels) {
	a := manifest.Announcement{Newest: &h, Levels: reached}
	switch {
	case u.placement.Manifest().State().Newest == nil:
		// At once: a restart that finds nothing must know that there was something.
		u.lastManifest = time.Now()
		u.announceNodes(ctx, a)
	case time.Since(u.lastManifest) >= manifestEvery:
		u.lastManifest = time.Now()
		u.maintenance.tell(metadata{nodes: a})
	}
	u.arrived()
}

// arrived takes notice, on rank 0, of versions that the parallel file system has
// now.
func (u *upkeep) arrived() {
	for _, id := range u.flushed.take() {
		if v := u.line.stored.CameHome(id); v != nil && v.Header.Version > 0 {
			h := v.Header
			u.maintenance.tell(metadata{latest: &h})
		}
	}
}

// repairLevels brings back what the last run, or a loss, has left undone.
func (st *starting) repairLevels(restored *container.Header) {
	if restored != nil {
		id, _ := storage.Identity(*restored)
		st.placement.Heal(id)
	}
	st.placement.Resume()
}

// Flush makes sure that the newest version is on the parallel file system: it is
// copied there, if it is only on the nodes, and waited for. It is collective. A
// job that is about to end on purpose calls it, because the nodes may be given
// to others. Without levels it is Wait.
func (cp *Checkpoint) Flush(ctx context.Context) error {
	return cp.call("Flush", func() error { return cp.out.flush(ctx) })
}

func (wr *writing) flush(ctx context.Context) error {
	if err := wr.wait(ctx); err != nil {
		return err
	}
	return wr.goHome(ctx, ctx)
}

// goHome brings the newest version to the parallel file system. Each rank waits for its own part as long as patience
// lasts; what the ranks agree on is not limited by that, or they would be out of step.
func (wr *writing) goHome(ctx, patience context.Context) error {
	id := wr.line.point.ID
	if id.IsZero() || !wr.placement.OnNodes() {
		return nil
	}
	defer wr.acc.stats.time(&wr.acc.stats.CheckpointTime)()
	if err := (carriedStart{wr.start}).openFiles(ctx); err != nil {
		return err
	}
	began := time.Now()
	err := wr.up.maintenanceDone(patience)
	if err == nil {
		err = disagreed(wr.placement.Flush(patience, id))
	}
	if _, err := wr.agree(ctx, err); err != nil {
		return fmt.Errorf("flush checkpoint %q: version %d: %w", wr.name, id.Version, err)
	}
	wr.meet.tempo.CameHome(time.Since(began))
	if !wr.root() {
		return nil
	}
	wr.up.flushed.add(id)
	wr.up.arrived()
	wr.up.prune(context.WithoutCancel(ctx))
	wr.up.doMaintenance(context.WithoutCancel(ctx))
	return nil
}

// aroundHome is goHome of the checkpoints around this one, the outermost first: a restart comes to what this one has stored through
// the versions in whose stage it is. Those that are there already need no time.
func aroundHome(ctx, patience context.Context, wr *writing) error {
	if wr.line.parent == nil {
		return nil
	}
	around := wr.line.parent.out
	if err := aroundHome(ctx, patience, around); err != nil {
		return err
	}
	if err := around.wait(ctx); err != nil {
		return err
	}
	there, err := wasHome(ctx, around.meet)
	if err != nil || there {
		return err
	}
	return around.goHome(ctx, patience)
}

// StoredVersion tells how safe a version is by now.
type StoredVersion struct {
	Version   uint64
	Iteration int64 // or NoIteration
	// Level is what it has reached on the nodes; none ("captured"): it is not there (any
	// more), or is still being written.
	Level storage.Levels
	// Flushed: it is on the parallel file system; Pending: it is on its way.
	Flushed, Pending bool
	// Synced: a crash of the machines where it is cannot take it back.
	Synced bool
	// Verified: it was read back with its checksums, out of whichever places. A version that a
	// rank has adopted was not.
	Verified bool
	// Durability is all that in one word.
	Durability Durability
}

// Durability is how safe a version is: who is on a rung has what those below promise, too,
// for as long as the job runs on the nodes that it has.
type Durability = catalog.Durability

// The rungs, from the lowest up: in the memory of the program, or on its way; in files,
// which the loss of a node can take; surviving the loss of any one node; whole on the
// parallel file system, and synced; that, and every byte of it was read back.
const (
	Captured  = catalog.Captured
	Local     = catalog.Local
	Redundant = catalog.Redundant
	AtHome    = catalog.AtHome
	Verified  = catalog.Verified
)

// Stored lists the versions that this run knows of, the oldest first, and how
// safe each is: on rank 0; other ranks get nil. The version that is being
// written in the background is the last one, without a level.
func (cp *Checkpoint) Stored() []StoredVersion {
	if cp.self != cp || !cp.root() || !cp.line.attempt.begun {
		return nil
	}
	cp.up.arrived()
	var out []StoredVersion
	for _, is := range cp.line.stored.All() {
		if !is.Complete() {
			continue
		}
		kept := is.Kept
		if planned := storage.Planned(is.Header).BelowHome(); kept.Reached != 0 && !kept.Reached.Include(planned) {
			kept.Reached = cp.placement.Reached(is.ID) // it may have healed
		}
		v := StoredVersion{
			Version: is.ID.Version, Iteration: is.Header.Iteration, Level: kept.Reached, Flushed: is.Home, Pending: is.Pending,
			Synced: storage.Synced(is.Header) && cp.opt.Sync == SyncFull, Verified: is.ID == cp.line.stored.Verified,
		}
		v.Durability = kept.Durability(v.Synced, v.Verified && cp.line.stored.VerifiedAtHome)
		out = append(out, v)
	}
	if f := cp.line.flight.Load(); f != nil {
		out = append(out, StoredVersion{Version: f.header.Version, Iteration: f.header.Iteration})
	}
	return out
}
