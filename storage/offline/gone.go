package offline

import (
	"fmt"
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// Gone tells of a version that was complete, as the files beside the versions say, and
// that is not there, nor a newer one. A restart misses it.
func (c *Checkpoint) Gone(versions []Version) error {
	id, by := c.announcedNewest()
	there := func(v Version) bool { return v.ID == id || v.ID.Version >= id.Version && v.Complete() }
	if id.IsZero() || slices.ContainsFunc(versions, there) {
		return nil
	}
	return fmt.Errorf("%s was complete, as %s tells, and is not there: put it back, or mount the file system that it is on", c.Files.Path(id), by)
}

// announcedNewest is the newest version that was complete as LATEST.json or the record of a
// run says, and which of them does; zero if none does. Of a nested checkpoint the stage
// may have ended, and what a run has written may be on nodes that cannot be read from here.
func (c *Checkpoint) announcedNewest() (id storage.ID, by string) {
	if c.Latest != nil && len(c.Latest.Ancestors) == 0 {
		if latest, ok := storage.ParseID(c.Latest.Directory); ok {
			id, by = latest, filestore.LatestName
		}
	}
	if c.ManifestUnread || c.Store.anyNode(NodeElsewhere) || c.Store.anyNode(NodeUnusable) {
		return id, by
	}
	for _, r := range c.Runs {
		attempt, ok := storage.ParseAttempt(r.Attempt)
		if ok && len(r.Ancestors) == 0 && r.LastWritten > id.Version {
			id, by = storage.ID{Version: r.LastWritten, Attempt: attempt}, filestore.RecordPrefix+"*-"+r.Attempt+".json"
		}
	}
	return id, by
}
