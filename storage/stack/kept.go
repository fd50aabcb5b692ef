package stack

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/nodelocal"
)

// Levels are those below the home that the versions are to have, for retention.
func (s *Stack) Levels() []storage.Level {
	var out []storage.Level
	for _, p := range s.Policy {
		if level := s.possible(p.Level); p.Level.Tier != storage.TierHome && !slices.Contains(out, level) {
			out = append(out, level)
		}
	}
	return out
}

// Kept says how a version is kept, as of the last Survey.
func (s *Stack) Kept(id storage.ID) storage.Kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.inv.info[id]
	k := storage.Kept{Entry: s.inv.entry(id), Oldest: i.Oldest, Home: s.inv.wholeAtHome(id), Reached: s.reached(id)}
	k.Pending = i.Plan.AtHome() && i.Plan.BelowHome() != 0 && !k.Home
	return k
}

// Reached are the levels that a version has below the home by now: as the last Survey
// found it, or as Heal has made it since, which rank 0 knows.
func (s *Stack) Reached(id storage.ID) storage.Levels {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reached(id)
}

// reached has Local also for what is at home but refers to a version that is not: the
// nodes have what it needs.
func (s *Stack) reached(id storage.ID) storage.Levels {
	if len(s.inv.objects[id]) == 0 && (!s.inv.complete(id) || s.inv.wholeAtHome(id)) {
		return 0
	}
	reached := storage.LevelsOf(storage.Local).With(s.healed[id])
	if len(s.nodes.list) > 1 && s.inv.survivesLoss(id) {
		for l := range s.inv.info[id].Plan.BelowHome().All() {
			reached = reached.With(storage.LevelsOf(s.inv.standsFor(id, l, s.Parity)))
		}
	}
	return reached
}

// standsFor is the level of a version that survives a loss, by what protects it:
// less than what it was meant for where the nodes did not allow that, or where some
// of it is lost.
func (v *inventory) standsFor(id storage.ID, level storage.Level, parity int) storage.Level {
	sets := v.setsOf(id)
	fewer := func(s set) bool { return s.Parity < parity }
	switch {
	case level.Redundancy != storage.Parity:
		return level
	case len(sets) == 0:
		return storage.Partner
	case level.Survives.OfEachSet > 1 && (slices.ContainsFunc(sets, fewer) || v.lacksAny(id)):
		return storage.XOR
	}
	return level
}

// Lost describes the version that the nodes had at last, as its note says, if it
// cannot be had any more; "" otherwise.
func (s *Stack) Lost() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.note.newest()
	if n == nil || s.inv.overtakes(n) {
		return ""
	}
	return fmt.Sprintf("version %v, which was kept at level %v, cannot be had any more: %s", n.ID, n.Levels, s.whatIsMissing(n.ID))
}

// Where names the nodes of this job that have anything of some versions.
func (s *Stack) Where(ids ...storage.ID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	has := make(map[int]bool)
	for _, id := range ids {
		for _, at := range s.inv.objects[id] {
			for _, n := range at {
				has[n] = true
			}
		}
	}
	var out []string
	for n, node := range s.nodes.list {
		if has[n] {
			out = append(out, fmt.Sprintf("%s (%s)", node.Host, filepath.Join(node.Dir, filepath.Base(s.local.Dir()))))
		}
	}
	return strings.Join(out, ", ")
}

// Absent says what nobody has of a version, and which nodes are not here.
func (s *Stack) Absent(id storage.ID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whatIsMissing(id)
}

// overtakes tells whether the version of a note, or a newer one, can be had.
func (v *inventory) overtakes(n *Newest) bool {
	return slices.ContainsFunc(v.ids(), func(id storage.ID) bool {
		return (id == n.ID || id.Version > n.ID.Version) && v.complete(id)
	})
}

// whatIsMissing names the nodes that are not here, with what to do about them, and
// the parts that nobody has.
func (s *Stack) whatIsMissing(id storage.ID) string {
	var gone []storage.NotedNode
	for _, was := range s.note.Nodes {
		here := slices.ContainsFunc(s.nodes.list, func(is node) bool { return is.isThat(was) })
		if !here {
			gone = append(gone, was)
		}
	}
	text := "its parts are on none of the nodes of this job"
	if ranks := s.inv.missing(id); ranks != "" {
		text = "the parts of ranks " + ranks + " are nowhere"
	}
	if len(gone) > 0 {
		text += "; " + s.bringBack(gone)
	}
	place := filepath.Base(s.local.Dir())
	if i := slices.IndexFunc(s.note.Nodes, func(was storage.NotedNode) bool { return filepath.Base(was.Dir) != place }); i >= 0 {
		text += "; " + s.whyAnotherName(s.note.Nodes[i].Dir)
	}
	return text
}

// whyAnotherName says why a place that the note names is not called as those of this job:
// the name is made of the path and the identity of the checkpoint's directory.
func (s *Stack) whyAnotherName(place string) string {
	o, err := nodelocal.ReadOwner(s.FS, place) // fails for those of other nodes
	if err == nil && o.Home == s.rootDir && o.ID != s.note.ID {
		return fmt.Sprintf("%s was stored with the identity %q, and %s says %q: one of the two is damaged; make it %[2]q in %[3]s if that is what %[5]s of the other places says too",
			place, o.ID, filepath.Join(s.rootDir, filestore.NodesName), s.note.ID, nodelocal.OwnerName)
	}
	return fmt.Sprintf("%s was stored when the path of the checkpoint's directory was not %s: start with the path as it was (CRAFT_CP_PATH)", place, s.rootDir)
}

// bringBack says how absent nodes get into the job.
func (s *Stack) bringBack(gone []storage.NotedNode) string {
	var names []string
	virtual := 0 // how many nodes on this host have them all
	for _, was := range gone {
		names = append(names, fmt.Sprintf("%s (%s)", was.Host, was.Dir))
		if slices.ContainsFunc(s.nodes.list, func(is node) bool { return is.Host == was.Host }) {
			virtual = max(virtual, virtualNodes(filepath.Dir(was.Dir)))
		}
	}
	text := "not in this job: " + strings.Join(names, ", ") + ": start it on nodes that include them"
	if virtual > 0 {
		for _, is := range s.nodes.list {
			virtual = max(virtual, virtualNodes(is.Dir))
		}
		text += fmt.Sprintf(", virtual nodes of one host with --nodes %d", virtual)
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

// missing names the ranks whose parts cannot be had; "" if none is missing, or nothing
// tells how many there were.
func (v *inventory) missing(id storage.ID) string {
	e, size := v.entry(id), v.size(id)
	if e.Size() == 0 && size > 0 {
		return fmt.Sprintf("0 to %d", size-1)
	}
	return e.MissingText()
}

// Missing describes what an incomplete version lacks, for messages.
func (s *Stack) Missing(id storage.ID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ranks, size := s.inv.missing(id), s.inv.size(id)
	away := strings.Join(s.inv.away[id], "; ")
	var text string
	switch {
	case size == 0:
		text = cmp.Or(away, "nothing of it is anywhere")
	case away != "": // perhaps not of all the parts
		text = fmt.Sprintf("the parts of ranks %s of %d cannot be had: %s", ranks, size, away)
	default:
		text = fmt.Sprintf("the parts of ranks %s of %d are nowhere (level %v)", ranks, size, s.inv.info[id].Plan.BelowHome())
	}
	if empty := s.withoutPartsOf(id); len(empty) > 0 {
		text += "; nodes without any part of it: " + strings.Join(empty, ", ")
	}
	return text
}

// withoutPartsOf lists the nodes that have lost what they had of a version, or
// never had anything.
func (s *Stack) withoutPartsOf(id storage.ID) []string {
	has := make(map[int]bool)
	for key, at := range s.inv.objects[id] {
		if key.Kind == nodelocal.KindPart {
			for _, n := range at {
				has[n] = true
			}
		}
	}
	var out []string
	for n, node := range s.nodes.list {
		if !has[n] {
			out = append(out, fmt.Sprintf("%s (%s)", node.Host, node.Dir))
		}
	}
	return out
}
