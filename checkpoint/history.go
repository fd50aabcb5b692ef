package checkpoint

import (
	"context"
	"encoding/hex"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// history is what rank 0 knows of the versions on disk, so that it need not
// look for them at each write. The job's lock makes it true.
type history struct {
	entries  []storage.Entry
	verified storage.ID
	damaged  []storage.ID
}

// published is called on rank 0 when a version is complete.
func (cp *Checkpoint) published(ctx context.Context, h container.Header) {
	id, _ := storage.Identity(h)
	entry := storage.Entry{ID: id}
	for r := range h.Size {
		entry.Parts = append(entry.Parts, storage.Part{Rank: r, Size: h.Size})
	}
	cp.history.entries = append(cp.history.entries, entry)
	cp.announce(ctx, h)
	cp.prune(ctx)
}

// announce leaves the note for people; without it everything works as well.
func (cp *Checkpoint) announce(ctx context.Context, h container.Header) {
	a, ok := cp.store.Driver.(storage.Announcer)
	if !ok {
		return
	}
	id, _ := storage.Identity(h)
	latest := storage.Latest{
		Checkpoint: h.Name, Version: h.Version, Directory: id.String(), Ranks: h.Size, Created: h.Created,
		Attempt: hex.EncodeToString(h.Attempt[:]), Lineage: hex.EncodeToString(h.Lineage[:]),
	}
	if h.Iteration != container.NoIteration {
		latest.Iteration = &h.Iteration
	}
	if err := a.Announce(ctx, latest); err != nil {
		cp.log.Warn("note about the latest version not written", "error", err)
	}
}

// prune deletes versions that need not be kept. What cannot be deleted now is
// tried again after the next version.
func (cp *Checkpoint) prune(ctx context.Context) {
	policy := storage.Retention{Keep: cp.opt.Keep, Verified: cp.history.verified, Damaged: cp.history.damaged}
	for _, id := range policy.Prunable(cp.history.entries) {
		if err := cp.store.Remove(ctx, id); err != nil {
			cp.log.Warn("old version not deleted", "version", id.Version, "error", err)
			continue
		}
		cp.history.forget(id)
	}
}

func (h *history) forget(id storage.ID) {
	kept := h.entries[:0]
	for _, e := range h.entries {
		if e.ID != id {
			kept = append(kept, e)
		}
	}
	h.entries = kept
}
