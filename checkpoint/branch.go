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

// describeBranch describes complete versions that the newest one does not come from, and
// those that the home does not know of, but for those that are known to be damaged; ""
// if there are none.
func describeBranch(newest storage.ID, others, unknown []catalog.Candidate, damaged []storage.ID) string {
	var names []string
	for _, c := range slices.Concat(others, unknown) { // which may be of another computation
		if !slices.Contains(names, c.ID.String()) && !slices.Contains(damaged, c.ID) {
			names = append(names, c.ID.String())
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("%s: %v, which is taken for the newest, does not come from them; they will be deleted when enough newer versions are complete: to keep them copy them away now, to use them instead move away that one and what else is of its branch",
		strings.Join(names, ", "), newest)
}

// overtaken describes a complete version of another computation than that of the
// candidates, which was written after them although its number is lower: its run did not
// know of them, because they were away, or in a backup. "" if nothing tells of one.
func (l *looker) overtaken(t catalog.Told, complete, candidates []catalog.Candidate) string {
	if l.line.parent != nil || len(candidates) == 0 || candidates[0].Lineage == nil {
		return ""
	}
	first, by := candidates[0], ""
	if l.place.Kept(first.ID).Home { // else LATEST.json need not know of it
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
		!slices.ContainsFunc(complete, func(c catalog.Candidate) bool { return c.ID == last.ID }) {
		return ""
	}
	return fmt.Sprintf("%v, of another computation, was written after %v, as %s tells, and has the lower number, so that its run cannot have seen it; it will be deleted when enough newer versions are complete: to keep it copy it away now, to go on from it move away the versions with higher numbers",
		last.ID, first.ID, last.By)
}

// unknownToHome counts the complete versions, newest first, that the home does not know
// of: see catalog.UnknownToHome.
func (l *looker) unknownToHome(complete []catalog.Candidate, t catalog.Told, noted manifest.State) int {
	return catalog.UnknownToHome(complete, t, noted.Reserved,
		func(id storage.ID) bool { return !l.place.Kept(id).Home },
		func(id storage.ID) bool { return l.unannounced(id, t, noted) })
}
