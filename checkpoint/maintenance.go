package checkpoint

import (
	"context"
	"encoding/hex"
	"slices"
	"sync"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// maintenance is what rank 0 has to do after a version is complete. Nothing depends
// on it, so in the asynchronous modes it is done in the background, and in synchronous
// mode old versions are deleted by the next write: whoever does it takes what is due
// first, so that more can be added meanwhile.
type maintenance struct {
	mu  sync.Mutex
	due due
}

// due is maintenance that nobody is doing.
type due struct {
	latest *container.Header
	note   *container.Header // of what the nodes have
	level  storage.Level     // that note has reached
	// reserved is the highest number that was used, for the note of the nodes.
	reserved storage.ID
	remove   []storage.ID
	later    []storage.ID // to be removed by the next write, or Close
	drop     []storage.ID // from the nodes only
	record   *storage.Record
}

// add adds what has to be done too; of notes the newer one counts.
func (c *maintenance) add(d due) {
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
	c.due.later = append(c.due.later, d.later...)
	c.due.drop = append(c.due.drop, d.drop...)
}

func newer(a, b *container.Header) bool { return a != nil && (b == nil || a.Version > b.Version) }

func (c *maintenance) take() due {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.due
	c.due = due{}
	return d
}

func (c *maintenance) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.due.none()
}

func (d due) none() bool {
	return d.latest == nil && d.note == nil && d.reserved.IsZero() && len(d.remove)+len(d.drop) == 0 && d.record == nil
}

// doMaintenance does what is due, and returns how many versions are gone now. One
// goroutine at a time does it, so that notes are not written over by older ones.
func (cp *Checkpoint) doMaintenance(ctx context.Context) (removed int) {
	d := cp.maintenance.take().all()
	left := d.do(ctx, cp)
	cp.maintenance.add(left)
	return len(d.remove) - len(left.remove)
}

// doPermitted is doMaintenance right after mayWrite.
func (cp *Checkpoint) doPermitted(ctx context.Context) (removed int) {
	d := cp.maintenance.take().all()
	left := d.doPermitted(ctx, cp)
	cp.maintenance.add(left)
	return len(d.remove) - len(left.remove)
}

// doUrgent does in a synchronous call what is not left for the next one, or for Close:
// to delete what the parallel file system has may take longer than the write.
func (cp *Checkpoint) doUrgent(ctx context.Context) {
	d := cp.maintenance.take()
	var later []storage.ID
	d.remove = slices.DeleteFunc(d.remove, func(id storage.ID) bool {
		if cp.stack != nil && !cp.stack.MayBeAtHome(id) {
			return false
		}
		later = append(later, id)
		return true
	})
	if cp.stack != nil { // the nodes write over the old files
		d.drop = append(d.drop, later...)
	}
	later, d.later = append(d.later, later...), nil
	left := d.do(ctx, cp)
	left.later = later
	cp.maintenance.add(left)
}

// all are those that are left for later, too.
func (d due) all() due {
	d.remove, d.later = append(d.remove, d.later...), nil
	return d
}

// do does them and returns what could not be done, for the next time. It does nothing
// if mayWrite forbids it: the lock is lost, or others may have declared this process
// dead.
func (d due) do(ctx context.Context, cp *Checkpoint) (left due) {
	if d.none() || cp.mayWrite() != nil {
		return d
	}
	return d.doPermitted(ctx, cp)
}

// doPermitted is do right after mayWrite. A writer that was given up may no longer own
// the directory: it does nothing either.
func (d due) doPermitted(ctx context.Context, cp *Checkpoint) (left due) {
	if ctx.Err() != nil {
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
		Ancestors: storage.NoteAncestors(h.Ancestors),
	}
	if h.Iteration != container.NoIteration {
		latest.Iteration = &h.Iteration
	}
	if err := a.Announce(ctx, latest); err != nil {
		cp.log.Warn("note about the latest version not written", "error", err)
	}
}
