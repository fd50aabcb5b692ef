package checkpoint

import (
	"context"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// published is called on rank 0 when a version is complete.
func (u *upkeep) published(ctx context.Context, h container.Header, reached storage.Levels) {
	u.line.attempt.written = h.Version
	id, _ := storage.Identity(h)
	entry := storage.Entry{ID: id}
	for r := range h.Size {
		entry.Parts = append(entry.Parts, storage.Part{Rank: r, Size: h.Size})
	}
	kept := catalog.Kept{Entry: entry, Reached: reached, Oldest: h.Oldest, Home: !u.place.OnNodes()}
	kept.Pending = !kept.Home && h.Flush
	u.line.stored.Add(kept, h)
	if reached.Include(u.possible(h)) {
		u.maintenance.remove.add(u.line.stored.Overtake()...)
	}
	if kept.Home {
		u.maintenance.tell(notes{latest: &h})
	} else {
		u.noteOnNodes(context.WithoutCancel(ctx), h, reached)
	}
	u.recordNested(ctx, h)
	u.prune()
	u.maintenance.tell(notes{record: u.dueRecord(false)})
	if u.writer == nil {
		u.doMaintenance(context.WithoutCancel(ctx))
	}
	u.pruneChildren(ctx)
}

// prune decides which versions need not be kept any more.
func (u *upkeep) prune() {
	levels := u.place.Levels() // that the nodes are to have
	var prunable catalog.Prunable
	if u.line.parent == nil {
		prunable = u.line.stored.Prune(u.opt.Keep, levels)
	} else {
		// Without any version on the nodes nobody could tell whether newer ones are on nodes
		// that are absent (placement.HasWitness).
		around := catalog.Nesting{Now: catalog.StageOf(u.line.ancestors()), Reachable: u.line.reachable, Witness: u.place.OnNodes()}
		prunable = u.line.stored.PruneNested(around, u.opt.Keep, levels)
	}
	u.maintenance.remove.add(prunable.Everywhere...)
	u.maintenance.drop.add(prunable.Nodes...)
}
