package checkpoint

import (
	"context"
	"encoding/hex"
	"sync"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// maintenance is what rank 0 has to do after a version is complete: notes that tell of it,
// and deletions. In the asynchronous modes that is done in the background, and notes are
// written there, or by the call that waits for the version. Whoever does it takes what is due
// first, so that more can be added meanwhile.
type maintenance struct {
	mu   sync.Mutex
	due  due
	gone int // versions that were removed since the last write began
	// noting is held by whoever writes notes, so that they are not written over by older ones.
	noting sync.Mutex
}

// due is maintenance that nobody is doing.
type due struct {
	notes
	remove []storage.ID
	drop   []storage.ID // from the nodes only
}

// notes are what tells of versions beside them.
type notes struct {
	latest *container.Header
	note   *container.Header // of what the nodes have
	levels storage.Levels    // that note has
	// reserved is the highest number that was used, for the note of the nodes.
	reserved storage.ID
	record   *storage.Record
}

// tell adds notes, of which the newer ones count.
func (c *maintenance) tell(n notes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := &c.due.notes
	if newer(n.latest, d.latest) {
		d.latest = n.latest
	}
	if newer(n.note, d.note) {
		d.note, d.levels = n.note, n.levels
	}
	if !n.reserved.IsZero() {
		d.reserved = n.reserved
	}
	if n.record != nil && (d.record == nil || !n.record.Updated.Before(d.record.Updated)) {
		d.record = n.record
	}
}

// add adds deletions.
func (c *maintenance) add(d due) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due.remove = append(c.due.remove, d.remove...)
	c.due.drop = append(c.due.drop, d.drop...)
}

func (c *maintenance) count(removed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone += removed
}

// begin tells how many versions were removed since the write before this one began.
func (c *maintenance) begin() (removed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	removed, c.gone = c.gone, 0
	return removed
}

func newer(a, b *container.Header) bool { return a != nil && (b == nil || a.Version > b.Version) }

// take takes the deletions.
func (c *maintenance) take() due {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.due
	c.due, d.notes = due{notes: d.notes}, notes{}
	return d
}

func (c *maintenance) takeNotes() notes {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.due.notes
	c.due.notes = notes{}
	return n
}

func (c *maintenance) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.due.none()
}

func (d due) none() bool {
	return d.latest == nil && d.note == nil && d.reserved.IsZero() && len(d.remove)+len(d.drop) == 0 && d.record == nil
}

// doMaintenance does what is due, and returns how many versions are gone now. It does nothing
// if mayWrite forbids it: the lock is lost, or others may have declared this process dead. One
// goroutine at a time does it.
func (u *upkeep) doMaintenance(ctx context.Context) (removed int) {
	if !u.maintenance.any() || u.mayWrite() != nil {
		return 0
	}
	return u.doPermitted(ctx)
}

// doPermitted is doMaintenance right after mayWrite. A writer that was given up may no longer
// own the directory: it does nothing either.
func (u *upkeep) doPermitted(ctx context.Context) (removed int) {
	if ctx.Err() != nil {
		return 0
	}
	u.doNotes(ctx)
	d := u.maintenance.take()
	left := due{remove: u.each(ctx, d.remove, u.store.Remove), drop: u.each(ctx, d.drop, u.place.Drop)}
	u.maintenance.add(left)
	removed = len(d.remove) - len(left.remove)
	u.maintenance.count(removed)
	return removed
}

// doNotes writes the notes that are due.
func (u *upkeep) doNotes(ctx context.Context) {
	u.maintenance.noting.Lock()
	defer u.maintenance.noting.Unlock()
	n := u.maintenance.takeNotes()
	if n.latest != nil {
		u.announce(ctx, *n.latest)
	}
	if n.note != nil || !n.reserved.IsZero() {
		u.noteNodes(ctx, n.note, n.levels, n.reserved)
	}
	if n.record != nil {
		u.writeRecord(ctx, *n.record)
	}
}

// each deletes versions and returns those that are left for the next time.
func (u *upkeep) each(ctx context.Context, ids []storage.ID, remove func(context.Context, storage.ID) error) []storage.ID {
	left := ids[:0]
	for _, id := range ids {
		if err := remove(ctx, id); err != nil {
			u.log.Warn("old version not deleted", "version", id.Version, "error", err)
			left = append(left, id)
		}
	}
	return left
}

// announce leaves the note for people; without it everything works as well.
func (u *upkeep) announce(ctx context.Context, h container.Header) {
	id, _ := storage.Identity(h)
	latest := storage.Latest{
		Checkpoint: h.Name, Version: h.Version, Directory: id.String(), Ranks: h.Size, Created: h.Created,
		Attempt: hex.EncodeToString(h.Attempt[:]), Lineage: hex.EncodeToString(h.Lineage[:]),
		Ancestors: storage.NoteAncestors(h.Ancestors),
	}
	if h.Iteration != container.NoIteration {
		latest.Iteration = &h.Iteration
	}
	if err := u.home.Announce(ctx, latest); err != nil {
		u.log.Warn("note about the latest version not written", "error", err)
	}
}
