package placement

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// Absence says what is missing of versions, why, and what to do about it: for people.
type Absence struct {
	nodes    *nodes
	register *register
	manifest *manifest.Writer
	fs       vfs.FS
	homeDir  string // of rank 0
	unused   string // see Unused
	doubt    string // see Doubt
}

func (a *Absence) onNodes() bool { return len(a.nodes.list) > 0 }

// Doubt is, on rank 0, why it is not known what the manifest says; "" if it is known.
func (a *Absence) Doubt() string { return a.doubt }

// Unused describes, on rank 0, what nodes have of this checkpoint although the home has
// no manifest; "" if there is nothing.
func (a *Absence) Unused() string { return a.unused }

// noteUnused says that nodes have something of the same checkpoint which nobody looks at.
func (a *Absence) noteUnused(reports []nodeReport, log *slog.Logger) {
	var where []string
	for _, n := range a.nodes.list {
		for _, dir := range reports[n.Ranks[0]].Earlier {
			where = append(where, fmt.Sprintf("%s (%s)", n.Host, dir))
		}
	}
	if len(where) == 0 {
		return
	}
	nodes := strings.Join(where, ", ")
	log.Warn("what nodes have of this checkpoint is not used: "+unusedWhy, "path", a.homeDir, "nodes", nodes)
	a.unused = fmt.Sprintf("what nodes have of the checkpoint in %s is not used (%s): %s", a.homeDir, nodes, unusedWhy)
}

const unusedWhy = "there is no " + manifest.Name + " in its directory, which says that it belongs to it; " +
	"end the program and mount the file system, or put the file back, before a version is written, with which a new one is made; " +
	"if the directory was deleted on purpose, delete these places on the nodes (craft node clean --unseen does, with all others of which it is not seen what became of their checkpoints)"

// LossStatus says what has become of a version that a Survey has found incomplete; told:
// the files beside the versions tell that it was complete.
func (a *Absence) LossStatus(id storage.ID, told bool) catalog.LossStatus {
	switch {
	case a.onNodes():
		past := a.past()
		return query(a.register, func(v catalog.View) catalog.LossStatus { return v.LossStatus(id, past) })
	case told:
		return catalog.Lost
	}
	return catalog.Interrupted
}

// past is what the manifest says of the job before: its newest version, and where its ranks
// were.
func (a *Absence) past() (before catalog.Past) {
	told := a.manifest.Last()
	if n := told.State().Newest; n != nil {
		before.Newest = n.ID
	}
	type place struct{ host, dir string }
	here := make(map[place]catalog.Place)
	for i, n := range a.nodes.list {
		here[place{n.Host, n.Root()}] = catalog.Place(i)
	}
	before.Ranks = make(map[int][]catalog.Place)
	for _, n := range told.Nodes {
		at, ok := here[place{n.Host, n.Root()}]
		if !ok {
			at = catalog.Gone
		}
		for _, rank := range n.Ranks {
			before.Ranks[rank] = append(before.Ranks[rank], at)
		}
	}
	return before
}

// Lost describes the version that the nodes had at last, as its note says, if it
// cannot be had any more; "" otherwise.
func (a *Absence) Lost() string {
	state := a.manifest.State()
	n := state.Newest
	if n != nil && !a.onNodes() {
		return fmt.Sprintf("version %v is only on the nodes (%s), and this run does not look there: run with %s to use it",
			n.ID, state.Where, withNodes(state))
	}
	if n == nil || query(a.register, func(v catalog.View) bool { return v.Overtaken(n.ID) }) {
		return ""
	}
	return fmt.Sprintf("version %v, which was kept at level %v, cannot be had any more: %s", n.ID, n.Levels, a.whatIsMissing(n.ID))
}

// Where names the nodes of this job that have anything of some versions.
func (a *Absence) Where(ids ...storage.ID) string {
	has := query(a.register, func(v catalog.View) (has []catalog.Place) {
		for _, id := range ids {
			has = append(has, v.NodesWith(id, storage.KindPart, storage.KindCopy, storage.KindParity)...)
		}
		return has
	})
	slices.Sort(has)
	var out []string
	for _, n := range slices.Compact(has) {
		out = append(out, a.nodes.list[n].String())
	}
	return strings.Join(out, ", ")
}

// withNodes says how a run looks at the nodes that a manifest tells of.
func withNodes(state manifest.State) string {
	return "CRAFT_LEVELS=" + state.Policy + " (and CRAFT_USE_SCR=1, and without DisableSCR) on these nodes"
}

// Absent says what nobody has of a version, and which nodes are not here; "" if no node
// can have anything.
func (a *Absence) Absent(id storage.ID) string {
	where := a.manifest.State().Where
	switch {
	case a.onNodes():
		return a.whatIsMissing(id)
	case where != "":
		return fmt.Sprintf("or start with the nodes that have it, if it was on nodes (%s)", where)
	}
	return ""
}

// Unseen says why versions that the manifest tells of are not seen, and how they would be.
func (a *Absence) Unseen() string {
	if a.onNodes() {
		return "its nodes are not in this job, or have lost what they had: to use them end this job and start it with them"
	}
	return "this run does not look there: to use them end it and run with " + withNodes(a.manifest.State())
}

// whatIsMissing names the nodes that are not here, with what to do about them, and
// the parts that nobody has.
func (a *Absence) whatIsMissing(id storage.ID) string {
	told := a.manifest.Last()
	var gone []manifest.Node
	for _, was := range told.Nodes {
		if !slices.ContainsFunc(a.nodes.list, was.Same) {
			gone = append(gone, was)
		}
	}
	text := "its parts are on none of the nodes of this job"
	if ranks := query(a.register, func(v catalog.View) string { return v.MissingText(id) }); ranks != "" {
		text = "the parts of ranks " + ranks + " are nowhere"
	}
	if len(gone) > 0 {
		text += "; " + a.bringBack(gone)
	}
	if i := slices.IndexFunc(told.Nodes, func(was manifest.Node) bool { return was.Place() != a.nodes.list[0].Place() }); i >= 0 {
		text += "; " + a.whyAnotherName(string(told.Nodes[i].Dir))
	}
	return text
}

// whyAnotherName says why a place that the note names is not called as those of this job:
// the name is made of the path and the identity of the checkpoint's directory.
func (a *Absence) whyAnotherName(place string) string {
	id := a.manifest.Last().ID
	o, err := nodelocal.ReadOwner(a.fs, place) // fails for those of other nodes
	if err == nil && string(o.Home) == a.homeDir && o.ID != id {
		return fmt.Sprintf("%s was stored with the identity %q, and %s says %q: one of the two is damaged; make it %[2]q in %[3]s if that is what %[5]s of the other places says too",
			place, o.ID, filepath.Join(a.homeDir, manifest.Name), id, nodelocal.OwnerName)
	}
	return fmt.Sprintf("%s was stored when the path of the checkpoint's directory was not %s: start with the path as it was (CRAFT_CP_PATH)", place, a.homeDir)
}

// bringBack says how absent nodes get into the job.
func (a *Absence) bringBack(gone []manifest.Node) string {
	var names []string
	virtual := 0 // how many nodes on this host have them all
	for _, was := range gone {
		names = append(names, was.String())
		if slices.ContainsFunc(a.nodes.list, func(is manifest.Node) bool { return is.Host == was.Host }) {
			virtual = max(virtual, virtualNodes(was.Root()))
		}
	}
	text := "not in this job: " + strings.Join(names, ", ") + ": start it on nodes that include them"
	if virtual > 0 {
		for _, is := range a.nodes.list {
			virtual = max(virtual, virtualNodes(is.Root()))
		}
		text += fmt.Sprintf(", virtual nodes of one host with --nodes %d (and no fewer ranks: a node without one is not looked at)", virtual)
	}
	return text
}

// virtualNodes is how many virtual nodes a job needs to have the one with this
// directory; 0: it is none.
func virtualNodes(dir string) int {
	number, numbered := strings.CutPrefix(filepath.Base(dir), "node-")
	if n, err := strconv.Atoi(number); numbered && err == nil {
		return n + 1
	}
	return 0
}

// Missing describes what an incomplete version lacks, for messages.
func (a *Absence) Missing(id storage.ID) string {
	return query(a.register, func(v catalog.View) string { return a.missing(v, id) })
}

func (a *Absence) missing(v catalog.View, id storage.ID) string {
	if !a.onNodes() {
		return cmp.Or(v.Listed(id).MissingText(), "all parts")
	}
	away, ranks, size := strings.Join(v.AwayAt(id), "; "), v.MissingText(id), v.Size(id)
	var text string
	switch {
	case size == 0:
		text = cmp.Or(away, "nothing of it is anywhere")
	case away != "": // perhaps not of all the parts
		text = fmt.Sprintf("the parts of ranks %s of %d cannot be had: %s", ranks, size, away)
	default:
		text = fmt.Sprintf("the parts of ranks %s of %d are nowhere (level %v)", ranks, size, v.Plan(id).BelowHome())
	}
	if catalog.Volatile(v, id) {
		return text
	}
	if empty := a.without(v.NodesWith(id, storage.KindPart)); len(empty) > 0 {
		text += "; nodes without any part of it: " + strings.Join(empty, ", ")
	}
	return text
}

// without lists the nodes that have lost what they had of a version, or
// never had anything: others have parts of it.
func (a *Absence) without(has []catalog.Place) (out []string) {
	for n, node := range a.nodes.list {
		if !slices.Contains(has, catalog.Place(n)) {
			out = append(out, fmt.Sprintf("%s (%s)", node.Host, node.Root()))
		}
	}
	return out
}
