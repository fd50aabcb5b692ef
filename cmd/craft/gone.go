package main

import (
	"fmt"
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// gone tells of a version that was complete, as the files beside the versions say, and
// that is not there, nor a newer one. A restart misses it.
func (c *checkpointDir) gone(versions []version) error {
	id, by := c.announcedNewest()
	there := func(v version) bool { return v.ID == id || v.ID.Version >= id.Version && v.Complete() }
	if id.IsZero() || slices.ContainsFunc(versions, there) {
		return nil
	}
	return fmt.Errorf("%s was complete, as %s tells, and is not there: put it back, or mount the file system that it is on", c.store.Path(id), by)
}

// announcedNewest is the newest version that was complete as LATEST.json or the record of a
// run says, and which of them does; zero if none does. Of a nested checkpoint the stage
// may have ended, and what a run has written may be on nodes that cannot be read from here.
func (c *checkpointDir) announcedNewest() (id storage.ID, by string) {
	if c.latest != nil && len(c.latest.Ancestors) == 0 {
		if latest, ok := storage.ParseID(c.latest.Directory); ok {
			id, by = latest, filestore.LatestName
		}
	}
	if c.manifestUnread || anyNode(c.store.at.nodes, nodeElsewhere) || anyNode(c.store.at.nodes, nodeUnusable) {
		return id, by
	}
	for _, r := range c.runs {
		attempt, ok := storage.ParseAttempt(r.Attempt)
		if ok && len(r.Ancestors) == 0 && r.LastWritten > id.Version {
			id, by = storage.ID{Version: r.LastWritten, Attempt: attempt}, filestore.RecordPrefix+"*-"+r.Attempt+".json"
		}
	}
	return id, by
}
