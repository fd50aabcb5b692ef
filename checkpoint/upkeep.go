package checkpoint

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/craft-go/craft/async"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// upkeep is what is to be done around the versions of a checkpoint, mostly by rank 0: metadata
// that tells of them, and the deletion of those that need not be kept.
type upkeep struct {
	*core
	line *lineage
	acc  *accounts

	maintenance  maintenance
	flushed      queue         // versions that have come to the parallel file system
	maintaining  *async.Ticket // it is being done by itself
	lastManifest time.Time
	// notReserved is when a number could not be reserved; used by what begins and writes.
	notReserved time.Time

	lastRecord time.Time
	recordCost atomic.Int64 // ns that the last record took
	recordMu   sync.Mutex   // held by who writes one
	marksRead  time.Time    // when it was looked which versions are marked
	unmarked   []storage.Mark
	recorded   storage.Record // the last one that was written: no older one takes its place
}

// published is called on rank 0 when a version is complete.
func (u *upkeep) published(ctx context.Context, h container.Header, reached storage.Levels) {
	volatile := reached.MemoryAlone()
	if volatile {
		u.line.attempt.memory.Version, u.line.attempt.memory.Iteration = h.Version, h.Iteration
	} else {
		u.line.attempt.written = h.Version
	}
	id, _ := storage.Identity(h)
	entry := storage.Entry{ID: id}
	for r := range h.Size {
		entry.Parts = append(entry.Parts, storage.Part{Rank: r, Size: h.Size})
	}
	kept := catalog.Kept{Entry: entry, Reached: reached, Oldest: h.Oldest, Home: !u.placement.OnNodes()}
	kept.Pending, kept.Volatile = !kept.Home && h.Flush, volatile
	u.line.stored.Add(kept, h)
	if reached.Include(u.possible(h)) {
		u.maintenance.remove.add(u.line.stored.Overtake()...)
	}
	switch {
	case kept.Home:
		u.maintenance.tell(metadata{latest: &h})
	case volatile:
		u.arrived()
	default:
		u.announceOnNodes(context.WithoutCancel(ctx), h, reached.On(storage.TierNode))
	}
	if !volatile {
		u.recordNested(ctx, h)
	}
	u.prune(context.WithoutCancel(ctx))
	if !volatile || time.Since(u.lastRecord) >= volatileRecordEvery {
		u.maintenance.tell(metadata{record: u.dueRecord(false)})
	}
	if u.writer == nil {
		u.doMaintenance(context.WithoutCancel(ctx))
	}
	u.pruneChildren(ctx)
}

// prune decides which versions need not be kept any more.
func (u *upkeep) prune(ctx context.Context) {
	if !(marks{u}).read() {
		return
	}
	levels := u.placement.Levels() // that the nodes are to have
	var prunable catalog.Prunable
	if u.line.parent == nil {
		prunable = u.line.stored.Prune(u.opt.Keep, levels)
	} else {
		// Without any version on the nodes nobody could tell whether newer ones are on nodes
		// that are absent (placement.HasWitness).
		around := catalog.Nesting{
			Now: catalog.StageOf(u.line.ancestors()), Reachable: u.line.reachable, Witness: u.placement.OnNodes(), Begun: !u.line.parentInFlight(),
		}
		prunable = u.line.stored.PruneNested(around, u.opt.Keep, levels)
	}
	for _, id := range prunable.Memory {
		if err := u.store.Remove(ctx, id); err != nil {
			u.log.Debug("an old version is still in memory", "version", id.Version, "error", err)
		}
	}
	u.maintenance.remove.add(prunable.Everywhere...)
	u.maintenance.drop.add(prunable.Nodes...)
}

// pruneChildren deletes what a new version has made useless, as each of them does.
func (u *upkeep) pruneChildren(ctx context.Context) {
	for _, in := range u.line.children {
		if !in.attempt.begun {
			continue
		}
		child := in.up
		child.prune(context.WithoutCancel(ctx))
		child.maintenance.remove.add(in.stored.Overtake()...)
		if child.writer != nil {
			child.startMaintenance()
		} else {
			child.doMaintenance(context.WithoutCancel(ctx))
		}
		child.pruneChildren(ctx)
	}
}

// makeRoom deletes on rank 0 what need not be kept, of all checkpoints that are nested
// in one another and write in the program's calls. It returns how much is gone: versions, and
// spares.
func (u *upkeep) makeRoom(ctx context.Context) (removed int) {
	if u.writer == nil && u.line.attempt.begun {
		u.prune(ctx) // also what a run has left that was killed
		removed = u.doMaintenance(ctx)
		if u.dropSpares() {
			removed++
		}
	}
	for _, child := range u.line.children {
		removed += child.up.makeRoom(ctx)
	}
	return removed
}

// dropSpares gives back the space of what removed versions have left to be written over.
func (u *upkeep) dropSpares() (dropped bool) {
	return u.root() && u.line.attempt.begun && u.mayWrite() == nil && u.home.Spares().Drop()
}
