package checkpoint

import (
	"context"
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// history is what rank 0 knows of the versions on disk, so that it need not
// look for them at each write. The job's lock makes it true.
type history struct {
	entries  []storage.Entry
	kept     map[storage.ID]catalog.Kept // with levels only
	chains   map[storage.ID]origin
	verified storage.ID
	damaged  []storage.ID
	// waiting are incomplete versions, newer than what was restored, whose nodes may
	// come back: until a version of this run is complete, the program may be ended
	// and started with them.
	waiting []catalog.Kept
}

func (h *history) forgetAll() {
	h.entries, h.chains, h.kept, h.waiting = nil, nil, nil, nil
}

// waitFor lets incomplete versions wait that are newer than what was restored and may
// be complete again, and those that they refer to.
func (h *history) waitFor(found survey, restored uint64, kept func(storage.ID) catalog.Kept) {
	for _, e := range slices.Backward(found.Entries) { // the newest first
		mayReturn := e.ID.Version > restored && found.LossStatuses[e.ID] != catalog.Interrupted
		if !e.Complete() && (mayReturn || h.waitsFor(e.ID)) {
			h.waiting = append(h.waiting, kept(e.ID))
		}
	}
}

// waitsFor tells whether a version is one of those that wait, or one of them refers
// to it.
func (h *history) waitsFor(id storage.ID) bool {
	return slices.ContainsFunc(h.waiting, func(k catalog.Kept) bool {
		return k.ID == id || k.Oldest > 0 && k.ID.Attempt == id.Attempt && k.Oldest <= id.Version && id.Version < k.ID.Version
	})
}

// overtake returns the versions that wait, because there is a newer one now.
func (h *history) overtake() (gone []storage.ID) {
	for _, k := range h.waiting {
		gone = append(gone, k.ID)
	}
	h.waiting = nil
	return gone
}

// origin is where a version comes from: its header, and the stage of a nested
// checkpoint that it belongs to.
type origin struct {
	header container.Header
	stage  chain
}

// keep says how a version that was added is kept.
func (h *history) keep(k catalog.Kept) {
	if h.kept == nil {
		h.kept = make(map[storage.ID]catalog.Kept)
	}
	h.kept[k.ID] = k
}

func (h *history) add(e storage.Entry, header container.Header) {
	h.entries = append(h.entries, e)
	if h.chains == nil {
		h.chains = make(map[storage.ID]origin)
	}
	h.chains[e.ID] = origin{header, chainOf(header.Ancestors)}
}

// has tells whether a version is stored, or may be had again.
func (h *history) has(id storage.ID) bool {
	return h.waitsFor(id) || slices.ContainsFunc(h.entries, func(e storage.Entry) bool { return e.ID == id })
}

// published is called on rank 0 when a version is complete.
func (cp *Checkpoint) published(ctx context.Context, h container.Header, reached storage.Levels) {
	cp.attempt.written = h.Version
	id, _ := storage.Identity(h)
	entry := storage.Entry{ID: id}
	for r := range h.Size {
		entry.Parts = append(entry.Parts, storage.Part{Rank: r, Size: h.Size})
	}
	cp.history.add(entry, h)
	if cp.stack != nil && reached.Include(cp.possible(h)) {
		cp.maintenance.add(due{remove: cp.history.overtake()})
	}
	if cp.stack == nil {
		cp.maintenance.tell(notes{latest: &h})
	} else {
		cp.keepOnNodes(context.WithoutCancel(ctx), entry, h, reached)
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
	prunable := cp.prunable()
	for _, id := range prunable.Everywhere {
		cp.history.forget(id)
	}
	for _, id := range prunable.Nodes {
		k := cp.history.kept[id]
		k.Reached = 0
		cp.history.kept[id] = k
	}
	cp.maintenance.add(due{remove: prunable.Everywhere, drop: prunable.Nodes})
}

// prunable is what may be deleted.
func (cp *Checkpoint) prunable() catalog.Prunable {
	if cp.parent != nil {
		return cp.prunableNested()
	}
	return cp.prunableOf(cp.history.entries, cp.opt.Keep)
}

// prunableOf is what may be deleted of some versions, of which so many are kept.
func (cp *Checkpoint) prunableOf(entries []storage.Entry, keep int) catalog.Prunable {
	policy := catalog.Retention{Keep: keep, Verified: cp.history.verified, Damaged: cp.history.damaged}
	kept := make([]catalog.Kept, 0, len(entries))
	for _, e := range entries {
		k, known := cp.history.kept[e.ID]
		if !known {
			k = catalog.Kept{Entry: e, Home: e.Complete(), Oldest: cp.history.chains[e.ID].header.Oldest}
		}
		kept = append(kept, k)
	}
	var levels []storage.Level // that the nodes are to have
	if cp.stack != nil {
		levels = cp.stack.Levels()
	}
	return policy.Prunable(levels, kept)
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
	delete(h.kept, id)
}
