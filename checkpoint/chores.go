package checkpoint

import (
	"context"
	"encoding/hex"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// chores are what rank 0 has to do after a version is complete. Nothing depends
// on them, so in the asynchronous modes they are done in the background: whoever
// does them takes them first, so that more can be added meanwhile.
type chores struct {
	mu  sync.Mutex
	due due
}

// due are chores that nobody is doing.
type due struct {
	latest *container.Header
	note   *container.Header // of what the nodes have
	level  storage.Level     // that note has reached
	// reserved is the highest number that was used, for the note of the nodes.
	reserved storage.ID
	remove   []storage.ID
	drop     []storage.ID // from the nodes only
	record   *storage.Record
}

// add adds what has to be done too; of notes the newer one counts.
func (c *chores) add(d due) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if newer(d.latest, c.due.latest) {
		c.due.latest = d.latest
	}
	if newer(d.note, c.due.note) {
		c.due.note, c.due.level = d.note, d.level
	}
	if !d.reserved.IsZero() {
		c.due.reserved = d.reserved
	}
	if d.record != nil && (c.due.record == nil || !d.record.Updated.Before(c.due.record.Updated)) {
		c.due.record = d.record
	}
	c.due.remove = append(c.due.remove, d.remove...)
	c.due.drop = append(c.due.drop, d.drop...)
}

func newer(a, b *container.Header) bool { return a != nil && (b == nil || a.Version > b.Version) }

func (c *chores) take() due {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.due
	c.due = due{}
	return d
}

func (c *chores) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.due
	return d.latest != nil || d.note != nil || !d.reserved.IsZero() || len(d.remove)+len(d.drop) > 0 || d.record != nil
}

// doChores does what is due. One goroutine at a time does it, so that notes are
// not written over by older ones.
func (cp *Checkpoint) doChores(ctx context.Context) { cp.chores.add(cp.chores.take().do(ctx, cp)) }

// do does them and returns what could not be deleted, for the next time. A writer
// that was given up may no longer own the directory: it does nothing, nor does a
// process that the others may have declared dead.
func (d due) do(ctx context.Context, cp *Checkpoint) (left due) {
	if ctx.Err() != nil || comm.Lease(cp.comm) != nil {
		return d
	}
	if d.latest != nil {
		cp.announce(ctx, *d.latest)
	}
	if cp.stack != nil && (d.note != nil || !d.reserved.IsZero()) {
		cp.noteNodes(ctx, d.note, d.level, d.reserved)
	}
	left.remove = cp.each(ctx, d.remove, cp.store.Remove)
	if cp.stack != nil {
		left.drop = cp.each(ctx, d.drop, cp.stack.Drop)
	}
	if d.record != nil {
		cp.writeRecord(ctx, *d.record)
	}
	return left
}

// each deletes versions and returns those that are left for the next time.
func (cp *Checkpoint) each(ctx context.Context, ids []storage.ID, remove func(context.Context, storage.ID) error) []storage.ID {
	left := ids[:0]
	for _, id := range ids {
		if err := remove(ctx, id); err != nil {
			cp.log.Warn("old version not deleted", "version", id.Version, "error", err)
			left = append(left, id)
		}
	}
	return left
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
