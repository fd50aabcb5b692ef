package checkpoint

import (
	"context"
	"encoding/hex"
	"sync"
	"sync/atomic"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/manifest"
)

// maintenance is what rank 0 has to do after a version is complete: metadata that tells of it,
// and deletions. In the asynchronous modes that is done in the background, and metadata is
// written there, or by the call that waits for the version. Whoever does it takes what is due
// first, so that more can be added meanwhile.
type maintenance struct {
	remove queue        // versions to be deleted
	drop   queue        // from the nodes only
	gone   atomic.Int64 // versions that were removed since the last write began

	mu  sync.Mutex
	due metadata
	// storing is held by whoever writes metadata, so that none is written over by what is older.
	storing sync.Mutex
}

// queue are versions for which something is to be done.
type queue struct {
	mu   sync.Mutex
	list []storage.ID
}

func (q *queue) add(ids ...storage.ID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, ids...)
}

func (q *queue) take() []storage.ID {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	q.list = nil
	return list
}

func (q *queue) any() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list) > 0
}

// metadata is what tells of versions beside them.
type metadata struct {
	latest *container.Header
	nodes  manifest.Announcement // of what the nodes have
	record *storage.Record
}

// tell adds metadata, of which the newer counts.
func (c *maintenance) tell(n metadata) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if newer(n.latest, c.due.latest) {
		c.due.latest = n.latest
	}
	if newer(n.nodes.Newest, c.due.nodes.Newest) {
		c.due.nodes.Newest, c.due.nodes.Levels = n.nodes.Newest, n.nodes.Levels
	}
	if !n.nodes.Reserved.IsZero() {
		c.due.nodes.Reserved = n.nodes.Reserved
	}
	if n.record != nil && (c.due.record == nil || !n.record.Updated.Before(c.due.record.Updated)) {
		c.due.record = n.record
	}
}

func newer(a, b *container.Header) bool { return a != nil && (b == nil || a.Version > b.Version) }

func (c *maintenance) takeMetadata() metadata {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.due
	c.due = metadata{}
	return n
}

func (c *maintenance) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.due != metadata{} || c.remove.any() || c.drop.any()
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
	u.writeMetadata(ctx)
	removed = u.each(ctx, &u.maintenance.remove, u.store.Remove)
	u.each(ctx, &u.maintenance.drop, u.placement.Drop)
	u.maintenance.gone.Add(int64(removed))
	return removed
}

func (u *upkeep) writeMetadata(ctx context.Context) {
	u.maintenance.storing.Lock()
	defer u.maintenance.storing.Unlock()
	n := u.maintenance.takeMetadata()
	if n.latest != nil {
		u.announce(ctx, *n.latest)
	}
	if n.nodes != (manifest.Announcement{}) {
		u.announceNodes(ctx, n.nodes)
	}
	if n.record != nil {
		u.writeRecord(ctx, *n.record)
	}
}

// each deletes versions, of which those that cannot be are left for the next time.
func (u *upkeep) each(ctx context.Context, due *queue, remove func(context.Context, storage.ID) error) (done int) {
	for _, id := range due.take() {
		if err := remove(ctx, id); (marks{u}).keep(id, err) {
			continue
		} else if err != nil {
			u.log.Warn("old version not deleted", "version", id.Version, "error", err)
			due.add(id)
		} else {
			done++
		}
	}
	return done
}

// announce leaves a file for people; without it everything works as well.
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
