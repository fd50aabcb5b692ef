package checkpoint

import (
	"context"
	"encoding/hex"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// history is what rank 0 knows of the versions on disk, so that it need not
// look for them at each write. The job's lock makes it true.
type history struct {
	entries  []storage.Entry
	chains   map[storage.ID]origin
	verified storage.ID
	damaged  []storage.ID
}

// origin is the stage of a nested checkpoint that a version belongs to.
type origin struct {
	ancestors []container.Ancestor
	stage     chain
}

func (h *history) add(e storage.Entry, ancestors []container.Ancestor) {
	h.entries = append(h.entries, e)
	if h.chains == nil {
		h.chains = make(map[storage.ID]origin)
	}
	h.chains[e.ID] = origin{ancestors, chainOf(ancestors)}
}

// has tells whether a version is stored.
func (h *history) has(id storage.ID) bool {
	return slices.ContainsFunc(h.entries, func(e storage.Entry) bool { return e.ID == id })
}

// anyOf tells whether a version of a stage is stored.
func (h *history) anyOf(stage chain) bool {
	return slices.ContainsFunc(h.entries, func(e storage.Entry) bool { return h.chains[e.ID].stage == stage })
}

// published is called on rank 0 when a version is complete.
func (cp *Checkpoint) published(ctx context.Context, h container.Header) {
	id, _ := storage.Identity(h)
	entry := storage.Entry{ID: id}
	for r := range h.Size {
		entry.Parts = append(entry.Parts, storage.Part{Rank: r, Size: h.Size})
	}
	cp.history.add(entry, h.Ancestors)
	cp.chores.latest = &h
	cp.prune()
	cp.chores.record = cp.dueRecord(false)
	if cp.writer == nil {
		cp.chores.do(context.WithoutCancel(ctx), cp)
	}
	// At once, because a child may be closed and opened again any time.
	cp.pruneChildren(ctx)
}

// chores are what rank 0 has to do after a version is complete. Nothing depends
// on them, so in the asynchronous modes they are done in the background.
type chores struct {
	latest *container.Header
	remove []storage.ID
	record *storage.Record
}

func (c *chores) any() bool { return c.latest != nil || len(c.remove) > 0 || c.record != nil }

// do does them. What cannot be deleted now stays for the next time. A writer that
// was given up may no longer own the directory: it does nothing, nor does a
// process that the others may have declared dead.
func (c *chores) do(ctx context.Context, cp *Checkpoint) {
	if ctx.Err() != nil || comm.Lease(cp.comm) != nil {
		return
	}
	if c.latest != nil {
		cp.announce(ctx, *c.latest)
		c.latest = nil
	}
	left := c.remove[:0]
	for _, id := range c.remove {
		if err := cp.store.Remove(ctx, id); err != nil {
			cp.log.Warn("old version not deleted", "version", id.Version, "error", err)
			left = append(left, id)
		}
	}
	c.remove = left
	if c.record != nil {
		cp.writeRecord(ctx, *c.record)
		c.record = nil
	}
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

// prune decides which versions need not be kept any more.
func (cp *Checkpoint) prune() {
	for _, id := range cp.prunable() {
		cp.history.forget(id)
		cp.chores.remove = append(cp.chores.remove, id)
	}
}

func (cp *Checkpoint) prunable() []storage.ID {
	if cp.parent != nil {
		return cp.prunableNested()
	}
	policy := storage.Retention{Keep: cp.opt.Keep, Verified: cp.history.verified, Damaged: cp.history.damaged}
	return policy.Prunable(cp.history.entries)
}

func (h *history) forget(id storage.ID) {
	kept := h.entries[:0]
	for _, e := range h.entries {
		if e.ID != id {
			kept = append(kept, e)
		}
	}
	h.entries = kept
	delete(h.chains, id)
}
