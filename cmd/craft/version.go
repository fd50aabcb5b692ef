package main

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

// version is what can be said of a version without reading all of it.
type version struct {
	storage.Entry

	path string
	// strays are files whose names speak of another number of ranks than those of
	// the version do.
	strays []storage.Part
	bytes  int64
	// header is that of the first part whose header is good; nil if there is
	// none, and err says why.
	header *container.Header
	err    error
	// newest: of the lineage that a restart would continue.
	newest bool
	// other: the newest complete version does not come from it.
	other bool
	// How many parts are on the parallel file system, how many on nodes that can be
	// read from here, and how many only parity gives back.
	home, onNodes, rebuilt int
	// told is the lineage that files beside the versions name, if no header does; "": it
	// is not known.
	told string
	// noted is what the note says of the version if it is the newest that the
	// nodes had.
	noted *manifest.Version
	// elsewhere: nodes that cannot be read from here may have more of it.
	elsewhere bool
	// reached are the levels that it has on the nodes; nil if not all of them can be
	// read from here, or it is not kept there.
	reached *storage.Levels
}

// mayBeOnNodes reports whether a version was written to nodes.
func (v *version) mayBeOnNodes() bool {
	return v.noted != nil || v.onNodes > 0 || v.header != nil && storage.Planned(*v.header).BelowHome() != 0
}

// told is what the files beside the versions tell of. Of a nested checkpoint they do not
// say of which stage that was.
func (c *checkpointDir) told() (t catalog.Told) {
	nested := slices.ContainsFunc(c.runs, func(r storage.Record) bool { return len(r.Ancestors) > 0 })
	if c.latest != nil {
		nested = nested || len(c.latest.Ancestors) > 0
		if id, ok := storage.ParseID(c.latest.Directory); ok && !nested {
			t.Claim(id, c.latest.Lineage, filestore.LatestName)
		}
	}
	t.Records(c.runs, nested, func(storage.Record) string { return filestore.RecordPrefix })
	return t
}

// candidates are the versions that a restart may take, newest first. One of which nodes
// elsewhere have the rest counts as complete.
func candidates(list []version) (all []catalog.Candidate) {
	for _, v := range slices.Backward(list) {
		if !v.Complete() && (v.noted == nil || !v.elsewhere) {
			continue
		}
		one := catalog.Candidate{ID: v.ID, Ranks: v.Size(), Lineage: v.lineageID()}
		if v.header != nil {
			one.Describe(*v.header)
		}
		all = append(all, one)
	}
	return all
}

// markNewestLineage marks the versions of the lineage of the newest one that is complete,
// or was, as the files beside them tell: the only ones that a restart looks at.
func (c *checkpointDir) markNewestLineage(list []version) {
	complete, told := candidates(list), c.told()
	newest, _ := catalog.LineageOfNewest(complete, told)
	if anew := catalog.Anew(told, complete); anew != nil {
		// A restart may go on with one of which only what is nested in this checkpoint is stored.
		newest = anew
	}
	for i := range list {
		lineage := list[i].lineageID()
		list[i].newest = lineage != nil && newest != nil && *lineage == *newest
	}
}

// markOtherBranches marks complete versions that the newest complete one of the same
// lineage does not come from, or that from which the last run went on.
func (c *checkpointDir) markOtherBranches(list []version) {
	var complete []catalog.Candidate
	var ids []storage.ID
	for _, one := range candidates(slices.DeleteFunc(slices.Clone(list), func(v version) bool { return !v.Complete() })) {
		complete, ids = append(complete, one), append(ids, one.ID)
	}
	told := c.told()
	_, others := catalog.OthersLast(told.Origins(complete), complete, catalog.GoneOnFrom(c.runs, ids))
	for i := range list {
		v := &list[i]
		v.other = v.newest && slices.ContainsFunc(others, func(c catalog.Candidate) bool { return c.ID == v.ID })
	}
}

// newestComplete is the index of the newest complete version, -1 if there is
// none.
func newestComplete(list []version) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Complete() {
			return i
		}
	}
	return -1
}

// lineage in hexadecimal digits.
func (v *version) lineage() (id string, known bool) {
	switch {
	case v.header != nil:
		return lineageHex(v.header.Lineage), true
	case v.noted != nil:
		return v.noted.Lineage, true
	}
	return v.told, v.told != ""
}

// lineageID is nil if it is not known.
func (v *version) lineageID() *container.LineageID {
	text, _ := v.lineage()
	if id, ok := storage.ParseLineage(text); ok {
		return &id
	}
	return nil
}

// state is such as "complete" or "3 of 4 parts".
func (v *version) state() string {
	switch size := v.Size(); {
	case len(v.Away) > 0 && !v.Complete():
		return "away"
	case size == 0 && v.elsewhere:
		return "on other nodes"
	case size == 0 && v.noted != nil:
		return "lost"
	case size == 0:
		return "no parts"
	case v.Complete():
		return "complete"
	case v.elsewhere:
		return fmt.Sprintf("%d of %d parts here", len(v.Parts), size)
	default:
		return fmt.Sprintf("%d of %d parts", len(v.Parts), size)
	}
}

// planned are the levels that the version was to have below the parallel file system, as
// its header says; PFS if it went there at once. ok is false if it is not known.
func (v *version) planned() (ls storage.Levels, ok bool) {
	switch {
	case v.header != nil:
		if ls = storage.Planned(*v.header); ls.BelowHome() != 0 {
			return ls.BelowHome(), true
		}
		return ls, true
	case v.noted != nil:
		return v.noted.Levels, true
	}
	return 0, false
}

// where says where the parts are: "pfs+nodes", "nodes 3/4+parity 1/4".
func (v *version) where() string {
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
	add(v.home, "pfs")
	add(v.onNodes, "nodes")
	add(v.rebuilt, "parity")
	if v.elsewhere {
		out = append(out, "other nodes")
	}
	return strings.Join(out, "+")
}
