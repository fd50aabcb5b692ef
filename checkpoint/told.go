package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
)

// told collects what the files beside the versions say.
func (l *looker) told(ctx context.Context, state manifest.State) (t catalog.Told, err error) {
	latest, err := l.home.Announced(ctx)
	if err != nil {
		return t, err
	}
	if latest != nil && l.ofThisStage(latest.Ancestors) {
		if id, ok := storage.ParseID(latest.Directory); ok {
			t.Claim(id, latest.Lineage, filestore.LatestName)
		}
	}
	runs, err := l.home.Records(ctx)
	if err != nil {
		return t, err
	}
	t.Records(runs, l.line.parent != nil, recordOf) // which may have been of another stage
	if n := state.Newest; n != nil {
		t.Use(n.ID.Version, manifest.Name)
		if l.ofThisStage(n.Ancestors) {
			t.Claims = append(t.Claims, catalog.Claim{ID: n.ID, Lineage: &n.Lineage, By: manifest.Name})
		}
	}
	return t, nil
}

func recordOf(r storage.Record) string { return filestore.RecordPrefix + "*-" + r.Attempt + ".json" }

// ofThisStage reports whether a version that is told of belongs to the present stage,
// as every one of a checkpoint does that is not nested.
func (l *looker) ofThisStage(noted []storage.NotedAncestor) bool {
	return slices.Equal(noted, storage.NoteAncestors(l.line.ancestors())) || l.line.parent == nil
}

// missing describes the newest version that is told of and that is not among the
// complete ones, of which newest has the highest number; "" if there is none.
func (l *looker) missing(t catalog.Told, state manifest.State, newest uint64) string {
	gone, files := t.Newest(newest)
	by := strings.Join(files, ", ")
	if gone == nil {
		return ""
	}
	if n := state.Newest; n != nil && n.ID == gone.ID {
		if text := l.placement.Absence().Lost(); text != "" {
			return text
		}
	}
	text := fmt.Sprintf("%s was complete, as %s tells, and lacks files now, or is not there at all: ", l.home.Path(gone.ID), by)
	back := "put it back, or mount the file system that it is on"
	if absent := l.placement.Absence().Absent(gone.ID); absent != "" {
		back = absent + "; if it was on the parallel file system, " + back
	}
	text += back
	text += "; if it was removed on purpose, delete what tells of it too"
	if strings.Contains(by, manifest.Name) {
		text += fmt.Sprintf(" (but keep format and id of %s, to which belongs what is on the nodes)", manifest.Name)
	}
	return text
}
