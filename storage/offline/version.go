package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
)

// Version is what can be said of a Version without reading all of it.
type Version struct {
	storage.Entry

	Path string
	// Strays are files whose names speak of another number of ranks than those of
	// the version do.
	Strays []storage.Part
	Bytes  int64
	// Header is that of the first part whose Header is good; nil if there is
	// none, and err says why.
	Header *container.Header
	Err    error
	// Newest: of the lineage that a restart would continue.
	Newest bool
	// Other: the newest complete version does not come from it.
	Other bool
	// How many parts are on the parallel file system, how many on nodes that can be
	// read from here, and how many only parity gives back.
	Home, OnNodes, Rebuilt int
	// LineageText is its lineage in hexadecimal digits, as its header says or, if that cannot
	// be read, files beside the versions; "": it is not known.
	LineageText string
	// Noted is what the manifest says of the version if it is the newest that the nodes had.
	Noted *manifest.Version
	// Elsewhere: nodes that cannot be read from here may have more of it.
	Elsewhere bool
	// Reached are the levels that it has on the nodes; nil if not all of them can be
	// read from here, or it is not kept there.
	Reached *storage.Levels
	// Labels are those of the marks that keep it.
	Labels []string
	// Passed is the name of the branch that a way back has passed over with it; "": none has.
	Passed string
}

// Durability is how safe one of a checkpoint's versions is that refers to others, as far as
// that can be said without reading all of them: none is safer than what it refers to. nil
// if it cannot be said now, or nodes that cannot be read from here may have more of it.
func (v *Version) Durability(list []Version, bases []uint64) *catalog.Durability {
	d, known := v.alone()
	for _, number := range bases {
		id := storage.ID{Version: number, Attempt: v.ID.Attempt}
		i := slices.IndexFunc(list, func(b Version) bool { return b.ID == id })
		if i < 0 {
			d = catalog.Captured
			break
		}
		base, ok := list[i].alone()
		d, known = min(d, base), known && ok
	}
	if !known {
		return nil
	}
	return &d
}

// alone is Durability of what needs no other version; ok is false where that is nil.
func (v *Version) alone() (d catalog.Durability, ok bool) {
	home := v.Home == v.Size()
	ok = v.Complete() && home || v.Reached != nil || !v.mayBeOnNodes() && !v.Elsewhere
	switch {
	case v.Err != nil && storage.Passing(v.Err):
		return catalog.Captured, false
	case v.Err != nil || v.Header == nil || !v.Complete():
		return catalog.Captured, ok
	}
	kept := catalog.Kept{Entry: v.Entry, Home: home}
	if v.Reached != nil {
		kept.Reached = *v.Reached
	}
	// Of what nodes have lost, or have only together with the home, no level is reached.
	return max(kept.Durability(storage.Synced(*v.Header), false), catalog.Local), ok
}

// mayBeOnNodes reports whether a version was written to nodes.
func (v *Version) mayBeOnNodes() bool {
	return v.Noted != nil || v.OnNodes > 0 || v.Header != nil && storage.Planned(*v.Header).On(storage.TierNode) != 0
}

// told is what the files beside the versions tell of. Of a nested checkpoint they do not
// say of which stage that was.
func (c *Checkpoint) told() (t catalog.Told) {
	nested := slices.ContainsFunc(c.Runs, func(r storage.Record) bool { return len(r.Ancestors) > 0 })
	if c.Latest != nil {
		nested = nested || len(c.Latest.Ancestors) > 0
		if id, ok := storage.ParseID(c.Latest.Directory); ok && !nested {
			t.Claim(id, c.Latest.Lineage, filestore.LatestName)
		}
	}
	t.Records(c.Runs, nested, func(storage.Record) string { return filestore.RecordPrefix })
	return t
}

// candidates are the versions that a restart may take, newest first. One of which nodes
// elsewhere have the rest counts as complete.
func candidates(list []Version) (all []catalog.Candidate) {
	for _, v := range slices.Backward(list) {
		if !v.Complete() && (v.Noted == nil || !v.Elsewhere) {
			continue
		}
		one := catalog.Candidate{ID: v.ID, Ranks: v.Size(), Lineage: v.Lineage()}
		if v.Header != nil {
			one.Describe(*v.Header)
		}
		all = append(all, one)
	}
	return all
}

// markLineages marks the versions of the lineage of the newest one that is complete, or was,
// as the files beside them tell: the only ones that a restart looks at. Of these it marks the
// complete ones that the newest complete one does not come from, or that from which the last
// run went on.
func (c *Checkpoint) markLineages(list []Version) {
	all, told := candidates(list), c.told()
	newest, _ := catalog.LineageOfNewest(all, told)
	if anew := catalog.Anew(told, all); anew != nil {
		// A restart may go on with one of which only what is nested in this checkpoint is stored.
		newest = anew
	}
	complete := whole(all, list)
	back := c.wayBack(complete, told)
	head, origins := catalog.GoesOnFrom(complete, told, back), told.Origins(complete)
	if back != nil {
		newest = head.Lineage
	}
	_, others := catalog.OthersLast(origins, complete, head.ID)
	for i := range list {
		v, lineage := &list[i], list[i].Lineage()
		v.Newest = lineage != nil && newest != nil && *lineage == *newest
		v.Labels = catalog.Labels(c.Marks, v.ID)
		v.Other = v.Newest && slices.ContainsFunc(others, func(c catalog.Candidate) bool { return c.ID == v.ID })
		if back != nil && (v.Other || !v.Newest) {
			v.Passed = catalog.NameOfBranch(origins, c.WayBack.Passed, v.ID)
		}
	}
}

// NewestComplete is the index of the newest complete version, -1 if there is none.
func NewestComplete(list []Version) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Complete() {
			return i
		}
	}
	return -1
}

// Lineage is nil if it is not known.
func (v *Version) Lineage() *container.LineageID {
	if id, ok := storage.ParseLineage(v.LineageText); ok {
		return &id
	}
	return nil
}

// State is such as "complete" or "3 of 4 parts".
func (v *Version) State() string {
	switch size := v.Size(); {
	case len(v.Away) > 0 && !v.Complete():
		return "away"
	case size == 0 && v.Elsewhere:
		return "on other nodes"
	case size == 0 && v.Noted != nil:
		return "lost"
	case size == 0:
		return "no parts"
	case v.Complete():
		return "complete"
	case v.Elsewhere:
		return fmt.Sprintf("%d of %d parts here", len(v.Parts), size)
	default:
		return fmt.Sprintf("%d of %d parts", len(v.Parts), size)
	}
}

// Planned are the levels that the version was to have below the parallel file system, as
// its header says; PFS if it went there at once. nil if it is not known.
func (v *Version) Planned() *storage.Levels {
	switch {
	case v.Header != nil:
		levels := storage.Planned(*v.Header).On(storage.TierNode)
		switch {
		case levels != 0:
		case v.OnNodes > 0: // there was no other rank to have it in memory
			levels = storage.LevelsOf(storage.Local)
		default: // what was in memory beside it has ended with the job
			levels = storage.LevelsOf(storage.PFS)
		}
		return &levels
	case v.Noted != nil:
		return &v.Noted.Levels
	}
	return nil
}

// Where says Where the parts are: "pfs+nodes", "nodes 3/4+parity 1/4".
func (v *Version) Where() string {
	var out []string
	add := func(n int, where string) {
		switch size := v.Size(); {
		case n == 0:
		case n == size:
			out = append(out, where)
		default:
			out = append(out, fmt.Sprintf("%s %d/%d", where, n, size))
		}
	}
	add(v.Home, "pfs")
	add(v.OnNodes, "nodes")
	add(v.Rebuilt, "parity")
	if v.Elsewhere {
		out = append(out, "other nodes")
	}
	return strings.Join(out, "+")
}

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
