package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/stack"
)

// told is what LATEST.json, NODES.json and the records of runs tell of. Nobody
// believes them that bytes are good, only that there have been some.
type told struct {
	versions []telling // that were complete
	// highest is the highest number that was used, as by says.
	highest uint64
	by      string
	runs    []storage.Record // oldest first
	// damaged are those that the last run has set aside, or knew of.
	damaged []storage.ID
}

// telling tells of a version that was complete.
type telling struct {
	id      storage.ID
	lineage *container.LineageID // nil: not known
	by      string               // name of the file
}

// told collects what the files beside the versions say.
func (cp *Checkpoint) told(ctx context.Context, noted stack.Noted) (t told, err error) {
	latest, err := cp.home.Announced(ctx)
	if err != nil {
		return t, err
	}
	if latest != nil && cp.ofThisStage(latest.Ancestors) {
		if id, ok := storage.ParseID(latest.Directory); ok {
			t.add(id, latest.Lineage, filestore.LatestName)
		}
	}
	if t.runs, err = cp.home.Records(ctx); err != nil {
		return t, err
	}
	for _, r := range t.runs {
		attempt, ok := storage.ParseAttempt(r.Attempt)
		if !ok {
			continue
		}
		if r.VersionsWritten+r.VersionsFailed > 0 {
			t.use(r.LastVersion, recordOf(r))
		}
		if cp.parent != nil { // it may have been of another stage
			continue
		}
		if r.LastWritten > 0 {
			t.add(storage.ID{Version: r.LastWritten, Attempt: attempt}, r.Lineage, recordOf(r))
		}
		if from, ok := storage.ParseAttempt(r.RestoredAttempt); ok && r.RestoredVersion > 0 {
			t.add(storage.ID{Version: r.RestoredVersion, Attempt: from}, r.Lineage, recordOf(r))
		}
	}
	if len(t.runs) > 0 {
		for _, name := range t.runs[len(t.runs)-1].Damaged {
			if id, ok := storage.ParseID(name); ok {
				t.damaged = append(t.damaged, id)
			}
		}
	}
	if n := noted.Newest; n != nil {
		t.use(n.ID.Version, filestore.NodesName)
		if cp.ofThisStage(n.Ancestors) {
			t.versions = append(t.versions, telling{n.ID, &n.Lineage, filestore.NodesName})
		}
	}
	return t, nil
}

// recordOf names the record of a run.
func recordOf(r storage.Record) string { return filestore.RecordPrefix + "*-" + r.Attempt + ".json" }

func (t *told) use(number uint64, by string) {
	if number > t.highest {
		t.highest, t.by = number, by
	}
}

func (t *told) add(id storage.ID, lineage, by string) {
	one := telling{id: id, by: by}
	if l, ok := storage.ParseLineage(lineage); ok {
		one.lineage = &l
	}
	t.use(id.Version, by)
	t.versions = append(t.versions, one)
}

// ofThisStage reports whether a version that is told of belongs to the present stage,
// as every one of a checkpoint does that is not nested.
func (cp *Checkpoint) ofThisStage(noted []storage.NotedAncestor) bool {
	return slices.Equal(noted, storage.NoteAncestors(cp.ancestors())) || cp.parent == nil
}

// tellsOf reports whether a version is known to have been complete.
func (t *told) tellsOf(id storage.ID) bool {
	return slices.ContainsFunc(t.versions, func(one telling) bool { return one.id == id })
}

// newest is the version with the highest number that is told of, and who tells of it
// or of others beyond that number; nil if there is none beyond it.
func (t *told) newest(beyond uint64) (best *telling, by string) {
	var files []string
	for i, one := range t.versions {
		if one.id.Version <= beyond {
			continue
		}
		if !slices.Contains(files, one.by) {
			files = append(files, one.by)
		}
		if best == nil || one.id.Version > best.id.Version {
			best = &t.versions[i]
		}
	}
	return best, strings.Join(files, ", ")
}

// lineageOf finds the lineage of an attempt; nil if nothing tells of it.
func (t *told) lineageOf(attempt container.AttemptID) *container.LineageID {
	for _, one := range t.versions {
		if one.id.Attempt == attempt && one.lineage != nil {
			return one.lineage
		}
	}
	for _, r := range t.runs {
		if id, ok := storage.ParseAttempt(r.Attempt); ok && id == attempt {
			if l, ok := storage.ParseLineage(r.Lineage); ok {
				return &l
			}
		}
	}
	return nil
}

// missing describes the newest version that is told of and that is not among the
// complete ones, of which newest has the highest number; "" if there is none.
func (cp *Checkpoint) missing(t told, noted stack.Noted, newest uint64) string {
	gone, by := t.newest(newest)
	if gone == nil {
		return ""
	}
	if n := noted.Newest; n != nil && n.ID == gone.id {
		text := ""
		if cp.stack != nil {
			text = cp.stack.Lost()
		} else {
			text = cp.leftOnNodes(noted)
		}
		if text != "" {
			return text
		}
	}
	text := fmt.Sprintf("%s was complete, as %s tells, and lacks files now, or is not there at all: put it back, or mount the file system that it is on", cp.home.Path(gone.id), by)
	switch {
	case cp.stack != nil:
		text += "; " + cp.stack.Absent(gone.id)
	case noted.Where != "":
		text += fmt.Sprintf(", or start with the nodes that have it, if it was on nodes (%s)", noted.Where)
	}
	text += "; if it was removed on purpose, delete what tells of it too"
	if strings.Contains(by, filestore.NodesName) {
		text += fmt.Sprintf(" (but keep format and id of %s, to which belongs what is on the nodes)", filestore.NodesName)
	}
	return text
}
