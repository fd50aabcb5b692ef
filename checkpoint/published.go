package checkpoint

import (
	"context"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// published is called on rank 0 when a version is complete.
func (cp *Checkpoint) published(ctx context.Context, h container.Header, reached storage.Levels) {
	cp.attempt.written = h.Version
	id, _ := storage.Identity(h)
	entry := storage.Entry{ID: id}
	for r := range h.Size {
		entry.Parts = append(entry.Parts, storage.Part{Rank: r, Size: h.Size})
	}
	kept := catalog.Kept{Entry: entry, Reached: reached, Oldest: h.Oldest, Home: !cp.place.OnNodes()}
	kept.Pending = !kept.Home && h.Flush
	cp.stored.Add(kept, h)
	if reached.Include(cp.possible(h)) {
		cp.maintenance.add(due{remove: cp.stored.Overtake()})
	}
	if kept.Home {
		cp.maintenance.tell(notes{latest: &h})
	} else {
		cp.noteOnNodes(context.WithoutCancel(ctx), h, reached)
	}
	cp.recordNested(ctx, h)
	cp.prune()
	cp.maintenance.tell(notes{record: cp.dueRecord(false)})
	switch {
	case cp.writer != nil:
	case cp.stats.VersionsWritten == 1: // also what a run has left that was killed
		cp.doMaintenance(context.WithoutCancel(ctx))
	default:
		cp.doUrgent(context.WithoutCancel(ctx))
	}
	cp.pruneChildren(ctx)
}

// prune decides which versions need not be kept any more.
func (cp *Checkpoint) prune() {
	levels := cp.place.Levels() // that the nodes are to have
	var prunable catalog.Prunable
	if cp.parent == nil {
		prunable = cp.stored.Prune(cp.opt.Keep, levels)
	} else {
		// Without any version on the nodes nobody could tell whether newer ones are on nodes
		// that are absent (placement.HasWitness).
		around := catalog.Nesting{Now: catalog.StageOf(cp.ancestors()), Reachable: cp.reachable, Witness: cp.place.OnNodes()}
		prunable = cp.stored.PruneNested(around, cp.opt.Keep, levels)
	}
	cp.maintenance.add(due{remove: prunable.Everywhere, drop: prunable.Nodes})
}
