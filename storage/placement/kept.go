package placement

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// Levels are those below the home that the versions are to have, for retention.
func (s *Placement) Levels() []storage.Level {
	var out []storage.Level
	for _, p := range s.Policy {
		if level := s.possible(p.Level); p.Level.Tier != storage.TierHome && !slices.Contains(out, level) {
			out = append(out, level)
		}
	}
	return out
}

// Kept says how a version is kept, as of the last Survey.
func (s *Placement) Kept(id storage.ID) catalog.Kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.cat.Kept(id, len(s.nodes.list), s.Parity)
	k.Reached = s.reached(id)
	return k
}

// Reached are the levels that a version has below the home by now: as the last Survey
// found it, or as Heal has made it since, which rank 0 knows.
func (s *Placement) Reached(id storage.ID) storage.Levels {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reached(id)
}

func (s *Placement) reached(id storage.ID) storage.Levels {
	reached := s.cat.Reached(id, len(s.nodes.list), s.Parity)
	if reached == 0 {
		return 0
	}
	return reached.With(s.healed[id])
}

// Lost describes the version that the nodes had at last, as its note says, if it
// cannot be had any more; "" otherwise.
func (s *Placement) Lost() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.manifest.State().Newest
	if n == nil || s.cat.Overtaken(n.ID) {
		return ""
	}
	return fmt.Sprintf("version %v, which was kept at level %v, cannot be had any more: %s", n.ID, n.Levels, s.whatIsMissing(n.ID))
}

// Where names the nodes of this job that have anything of some versions.
func (s *Placement) Where(ids ...storage.ID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var has []catalog.Place
	for _, id := range ids {
		has = append(has, s.cat.NodesWith(id, storage.KindPart, storage.KindCopy, storage.KindParity)...)
	}
	slices.Sort(has)
	var out []string
	for _, n := range slices.Compact(has) {
		node := s.nodes.list[n]
		out = append(out, fmt.Sprintf("%s (%s)", node.Host, filepath.Join(node.Dir, filepath.Base(s.local.Dir()))))
	}
	return strings.Join(out, ", ")
}

// Absent says what nobody has of a version, and which nodes are not here.
func (s *Placement) Absent(id storage.ID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whatIsMissing(id)
}

// whatIsMissing names the nodes that are not here, with what to do about them, and
// the parts that nobody has.
func (s *Placement) whatIsMissing(id storage.ID) string {
	told := s.manifest.Last()
	var gone []manifest.Node
	for _, was := range told.Nodes {
		here := slices.ContainsFunc(s.nodes.list, func(is node) bool { return is.isThat(was) })
		if !here {
			gone = append(gone, was)
		}
	}
	text := "its parts are on none of the nodes of this job"
	if ranks := s.cat.MissingText(id); ranks != "" {
		text = "the parts of ranks " + ranks + " are nowhere"
	}
	if len(gone) > 0 {
		text += "; " + s.bringBack(gone)
	}
	place := filepath.Base(s.local.Dir())
	if i := slices.IndexFunc(told.Nodes, func(was manifest.Node) bool { return filepath.Base(was.Dir) != place }); i >= 0 {
		text += "; " + s.whyAnotherName(told.Nodes[i].Dir)
	}
	return text
}

// whyAnotherName says why a place that the note names is not called as those of this job:
// the name is made of the path and the identity of the checkpoint's directory.
func (s *Placement) whyAnotherName(place string) string {
	id := s.manifest.Last().ID
	o, err := nodelocal.ReadOwner(s.FS, place) // fails for those of other nodes
	if err == nil && o.Home == s.rootDir && o.ID != id {
		return fmt.Sprintf("%s was stored with the identity %q, and %s says %q: one of the two is damaged; make it %[2]q in %[3]s if that is what %[5]s of the other places says too",
			place, o.ID, filepath.Join(s.rootDir, manifest.Name), id, nodelocal.OwnerName)
	}
	return fmt.Sprintf("%s was stored when the path of the checkpoint's directory was not %s: start with the path as it was (CRAFT_CP_PATH)", place, s.rootDir)
}

// bringBack says how absent nodes get into the job.
func (s *Placement) bringBack(gone []manifest.Node) string {
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

// Missing describes what an incomplete version lacks, for messages.
func (s *Placement) Missing(id storage.ID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ranks, size := s.cat.MissingText(id), s.cat.Size(id)
	away := strings.Join(s.cat.AwayAt(id), "; ")
	var text string
	switch {
	case size == 0:
		text = cmp.Or(away, "nothing of it is anywhere")
	case away != "": // perhaps not of all the parts
		text = fmt.Sprintf("the parts of ranks %s of %d cannot be had: %s", ranks, size, away)
	default:
		text = fmt.Sprintf("the parts of ranks %s of %d are nowhere (level %v)", ranks, size, s.cat.Plan(id).BelowHome())
	}
	if empty := s.withoutPartsOf(id); len(empty) > 0 {
		text += "; nodes without any part of it: " + strings.Join(empty, ", ")
	}
	return text
}

// withoutPartsOf lists the nodes that have lost what they had of a version, or
// never had anything.
func (s *Placement) withoutPartsOf(id storage.ID) []string {
	has := s.cat.NodesWith(id, storage.KindPart)
	var out []string
	for n, node := range s.nodes.list {
		if !slices.Contains(has, catalog.Place(n)) {
			out = append(out, fmt.Sprintf("%s (%s)", node.Host, node.Dir))
		}
	}
	return out
}
