package checkpoint

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// noteEvery is how often the note about the nodes is written anew while versions
// are.
const noteEvery = 10 * time.Second

// flushedQueue are versions that have come to the parallel file system in the
// background.
type flushedQueue struct {
	mu   sync.Mutex
	list []storage.ID
}

func (a *flushedQueue) add(id storage.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, id)
}

func (a *flushedQueue) take() []storage.ID {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.list
	a.list = nil
	return list
}

// keepOnNodes notes on rank 0 how a new version is kept.
func (cp *Checkpoint) keepOnNodes(ctx context.Context, e storage.Entry, h container.Header, reached storage.Levels) {
	cp.history.keep(catalog.Kept{Entry: e, Reached: reached, Pending: h.Flush, Oldest: h.Oldest})
	switch {
	case cp.stack.Newest() == nil:
		// At once: a restart that finds nothing must know that there was something.
		cp.lastNote = time.Now()
		cp.noteNodes(ctx, &h, reached, storage.ID{})
	case time.Since(cp.lastNote) >= noteEvery:
		cp.lastNote = time.Now()
		cp.maintenance.tell(notes{note: &h, levels: reached})
	}
	cp.arrived()
}

// arrived takes notice, on rank 0, of versions that the parallel file system has
// now.
func (cp *Checkpoint) arrived() {
	for _, id := range cp.flushed.take() {
		k, known := cp.history.kept[id]
		if !known {
			continue
		}
		k.Home, k.Pending = true, false
		cp.history.kept[id] = k
		if h := cp.history.chains[id].header; h.Version > 0 {
			cp.maintenance.tell(notes{latest: &h})
		}
	}
}

// mendLevels brings back what the last run, or a loss, has left undone.
func (cp *Checkpoint) mendLevels(restored *container.Header) {
	if cp.stack == nil {
		return
	}
	if restored != nil {
		id, _ := storage.Identity(*restored)
		cp.stack.Heal(id)
	}
	cp.stack.Resume()
}

// Flush makes sure that the newest version is on the parallel file system: it is
// copied there, if it is only on the nodes, and waited for. It is collective. A
// job that is about to end on purpose calls it, because the nodes may be given
// to others. Without levels it is Wait.
func (cp *Checkpoint) Flush(ctx context.Context) error {
	if cp.disabled() {
		return nil
	}
	if err := cp.ready("Flush"); err != nil {
		return err
	}
	defer cp.calling.Unlock()
	if err := cp.wait(ctx); err != nil {
		return err
	}
	if cp.stack == nil || cp.point.version == 0 {
		return nil
	}
	defer cp.stats.time(&cp.stats.CheckpointTime)()
	id := storage.ID{Version: cp.point.version, Attempt: cp.point.attempt}
	err := cp.maintenanceDone(ctx)
	if err == nil {
		err = disagreed(cp.stack.Flush(ctx, id))
	}
	if _, err := cp.agree(ctx, err); err != nil {
		return fmt.Errorf("flush checkpoint %q: version %d: %w", cp.name, id.Version, err)
	}
	if !cp.root() {
		return nil
	}
	cp.flushed.add(id)
	cp.arrived()
	cp.prune()
	cp.doMaintenance(context.WithoutCancel(ctx))
	return nil
}

// StoredVersion tells how safe a version is by now.
type StoredVersion struct {
	Version   uint64
	Iteration int64 // or container.NoIteration (math.MinInt64)
	// Level is what it has reached on the nodes; none ("captured"): it is not there (any
	// more), or is still being written.
	Level storage.Levels
	// Flushed: it is on the parallel file system; Pending: it is on its way.
	Flushed, Pending bool
	// Synced: a crash of the machines where it is cannot take it back.
	Synced bool
	// Verified: it was read back with its checksums.
	Verified bool
}

// Stored lists the versions that this run knows of, the oldest first, and how
// safe each is: on rank 0; other ranks get nil. The version that is being
// written in the background is the last one, without a level.
func (cp *Checkpoint) Stored() []StoredVersion {
	if cp.self != cp || !cp.root() || !cp.attempt.begun {
		return nil
	}
	cp.arrived()
	var out []StoredVersion
	for _, e := range cp.history.entries {
		if !e.Complete() {
			continue
		}
		v := StoredVersion{
			Version: e.ID.Version, Iteration: cp.history.chains[e.ID].header.Iteration, Flushed: true,
			Synced: cp.opt.Sync == "full", Verified: e.ID == cp.history.verified,
		}
		if cp.stack != nil {
			k := cp.history.kept[e.ID]
			v.Level, v.Flushed, v.Pending = k.Reached, k.Home, k.Pending
			if planned := storage.Planned(cp.history.chains[e.ID].header).BelowHome(); k.Reached != 0 && !k.Reached.Include(planned) {
				v.Level = cp.stack.Reached(e.ID) // it may have healed
			}
		}
		out = append(out, v)
	}
	if f := cp.flight.Load(); f != nil {
		out = append(out, StoredVersion{Version: f.header.Version, Iteration: f.header.Iteration})
	}
	return out
}
