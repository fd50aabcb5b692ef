package main

import (
	"fmt"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
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
	noted *storage.NotedVersion
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

// markNewestLineage marks the versions of the lineage of the newest one that is
// complete, or was, as the files beside them tell: the only ones that a restart looks
// at. A newer version of which the nodes elsewhere have the rest counts as complete.
func (c *checkpointDir) markNewestLineage(list []version) {
	newest, number := "", uint64(0)
	take := func(lineage string, of uint64) {
		if of > number {
			newest, number = lineage, of
		}
	}
	for i := range list {
		v := &list[i]
		if lineage, known := v.lineage(); known && (v.Complete() || v.noted != nil && v.elsewhere) {
			take(lineage, v.ID.Version)
		}
	}
	if c.latest != nil && len(c.latest.Ancestors) == 0 { // else it may be of another stage
		take(c.latest.Lineage, c.latest.Version)
	}
	for _, r := range c.runs {
		if len(r.Ancestors) == 0 {
			take(r.Lineage, r.LastWritten)
		}
	}
	// A restart may go on with one of which only what is nested in this checkpoint is stored.
	if r := storage.BegunAnew(c.runs); r != nil && number <= r.LastVersion {
		newest = r.Anew
	}
	for i := range list {
		lineage, known := list[i].lineage()
		list[i].newest = known && lineage == newest
	}
}

// markOtherBranches marks complete versions that the newest complete one of the same
// lineage does not come from, or that from which the last run went on.
func (c *checkpointDir) markOtherBranches(list []version) {
	head, origins := newestComplete(list), catalog.RecordedOrigins(c.runs)
	for _, v := range list {
		if v.header == nil {
			continue
		}
		if origin := storage.Origin(*v.header); !origin.IsZero() {
			origins[v.ID.Attempt] = origin
		}
	}
	if head < 0 {
		return
	}
	var complete []storage.ID
	for _, v := range list {
		if v.Complete() {
			complete = append(complete, v.ID)
		}
	}
	first := list[head].ID
	if from := catalog.GoneOnFrom(c.runs, complete); !from.IsZero() {
		first = from
	}
	line := origins.Line(first)
	for i := range list {
		v := &list[i]
		v.other = v.newest && v.Complete() && line.LeavesOut(v.ID)
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
