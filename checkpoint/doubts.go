package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
)

// doubts describe, for people, what may be wrong about going on with what is found; "":
// nothing. A strict start is refused because of them.
type doubts struct {
	// Lost describes a version that was complete, as its note says, and cannot be
	// had now.
	Lost string
	// Unannounced describes complete versions on nodes of which nothing in the checkpoint's
	// directory tells who has written them.
	Unannounced string
	// branch describes complete versions that the newest one does not come from.
	branch string
	// leftDamaged describes those that earlier runs have set aside which the newest version does
	// not come from.
	leftDamaged string
	// resumed tells that what is stored is of a computation that the last run did not go on with.
	resumed string
	// unseen describes versions that there may be where this run does not look.
	unseen string
}

// warn tells people what strict is about.
func (st *starting) warn(found survey) {
	for _, w := range []struct{ message, why string }{
		{"the newest version is not used", found.Lost},
		{"there may be newer versions on the nodes", found.unseen},
		{"versions of another branch are stored", found.branch},
		{"versions that this directory does not know of are on the nodes", found.Unannounced},
		{"a damaged version is still stored", found.leftDamaged},
		{"the computation before the last run is gone on with", found.resumed},
	} {
		if w.why != "" {
			st.rootLog.Warn(w.message, "why", w.why)
		}
	}
}

// describeBranch describes complete versions that the newest one does not come from, but for
// those that are known to be damaged; "" if there are none.
func describeBranch(newest storage.ID, astray, damaged []storage.ID) string {
	var ids []storage.ID
	for _, id := range astray {
		if !slices.Contains(ids, id) && !slices.Contains(damaged, id) {
			ids = append(ids, id)
		}
	}
	if ids == nil {
		return ""
	}
	return fmt.Sprintf("%s: %v, which is taken for the newest, does not come from them; they will be deleted when enough newer versions are complete: to keep them copy them away now, to use them instead move away that one and what else is of its branch",
		named(ids), newest)
}

// What a run has set aside as damaged stays stored until enough newer versions are
// complete. It looks like a branch that could be used, so the record of the run names it,
// and those of later runs, of which each knows what the one before has named.

// describeDamaged describes those that would be a branch if they were not damaged. Of the
// newest version it is found out once more. "" if there are none.
func describeDamaged(newest storage.ID, astray, damaged []storage.ID) string {
	var ids []storage.ID
	for _, id := range damaged {
		if slices.Contains(astray, id) {
			ids = append(ids, id)
		}
	}
	if ids == nil {
		return ""
	}
	return fmt.Sprintf("%s: an earlier run has set it aside, and %v, which is taken for the newest, does not come from it; it will be deleted when enough newer versions are complete: to keep it copy it away now",
		named(ids), newest)
}

// overtaken describes a complete version of another computation than that of the
// candidates, which was written after them although its number is lower: its run did not
// know of them, because they were away, or in a backup. "" if nothing tells of one.
func (l *looker) overtaken(t catalog.Told, complete, candidates []catalog.Candidate) string {
	if l.line.parent != nil || len(candidates) == 0 || candidates[0].Lineage == nil {
		return ""
	}
	first, by := candidates[0], ""
	if l.placement.Kept(first.ID).Home { // else LATEST.json need not know of it
		by = filestore.LatestName
	}
	for _, r := range slices.Backward(t.Runs) {
		if attempt, _ := storage.ParseAttempt(r.Attempt); attempt == first.ID.Attempt {
			return ""
		}
		if r.LastWritten > 0 {
			by = recordOf(r)
			break
		}
	}
	at := slices.IndexFunc(t.Claims, func(one catalog.Claim) bool { return one.By == by })
	if at < 0 {
		return ""
	}
	last := t.Claims[at]
	if last.Lineage == nil || *last.Lineage == *first.Lineage || last.ID.Version > first.ID.Version ||
		!slices.Contains(idsOf(complete), last.ID) {
		return ""
	}
	return fmt.Sprintf("%v, of another computation, was written after %v, as %s tells, and has the lower number, so that its run cannot have seen it; it will be deleted when enough newer versions are complete: to keep it copy it away now, to go on from it move away the versions with higher numbers",
		last.ID, first.ID, last.By)
}

// unknownToHome counts the complete versions, newest first, that the home does not know
// of: see catalog.UnknownToHome.
func (l *looker) unknownToHome(complete []catalog.Candidate, t catalog.Told, state manifest.State) int {
	return catalog.UnknownToHome(complete, t, state.Reserved,
		func(id storage.ID) bool { return !l.placement.Kept(id).Home },
		func(id storage.ID) bool { return l.unannounced(id, t, state) })
}

// A checkpoint's directory may be copied, or an old backup of it put back. All copies have
// one identity and so, at one path, one place on each node: what a run has left there
// is found by the next one, whichever copy either of them used. But a run notes in the
// directory that it uses which numbers are its own before anything is on a node.

// unannounced reports whether only nodes have a complete version, and nothing in the
// checkpoint's directory tells of the run that has written it.
func (l *looker) unannounced(id storage.ID, t catalog.Told, state manifest.State) bool {
	return !l.placement.Kept(id).Home && !state.Announced(id) && !t.TellsOfAttempt(id.Attempt)
}

// describeUnannounced describes the versions that are unannounced, but for those that
// branch names; "" if there are none.
func (l *looker) describeUnannounced(complete []catalog.Candidate, t catalog.Told, state manifest.State, branch string) string {
	var ids []storage.ID
	for _, id := range idsOf(complete) {
		if l.unannounced(id, t, state) && !strings.Contains(branch, id.String()) {
			ids = append(ids, id)
		}
	}
	if ids == nil {
		return ""
	}
	text := fmt.Sprintf("%s on %s: nothing in %s tells of the runs that have written them, so that it is an older or another copy of the directory that they used, or could not be written to then",
		named(ids), l.placement.Absence().Where(ids...), l.dir())
	if last, by := t.Newest(0); last != nil && !slices.Contains(idsOf(complete), last.ID) {
		text += fmt.Sprintf("; %v, the newest of which anything there tells (%s), is gone", last.ID, strings.Join(by, ", "))
	}
	return text + "; to go on from what they used put that directory back in its place; to go on without them move them away from the nodes, before a version is written"
}

func idsOf(list []catalog.Candidate) (ids []storage.ID) {
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

func named(ids []storage.ID) string { return join(ids, ", ", storage.ID.String) }
