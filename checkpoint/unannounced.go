package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/manifest"
)

// A checkpoint's directory may be copied, or an old backup of it put back. All copies have
// one identity and so, at one path, one place on each node: what a run has left there
// is found by the next one, whichever copy either of them used. But a run notes in the
// directory that it uses which numbers are its own before anything is on a node.

// unannounced reports whether only nodes have a complete version, and nothing in the
// checkpoint's directory tells of the run that has written it.
func (l *looker) unannounced(id storage.ID, t catalog.Told, noted manifest.State) bool {
	return !l.place.Kept(id).Home && !noted.Announced(id) && !t.TellsOfAttempt(id.Attempt)
}

// describeUnannounced describes the versions that are unannounced, but for those that
// branch names; "" if there are none.
func (l *looker) describeUnannounced(complete []catalog.Candidate, t catalog.Told, noted manifest.State, branch string) string {
	var ids []storage.ID
	var names []string
	for _, c := range complete {
		if l.unannounced(c.ID, t, noted) && !strings.Contains(branch, c.ID.String()) {
			ids, names = append(ids, c.ID), append(names, c.ID.String())
		}
	}
	if ids == nil {
		return ""
	}
	text := fmt.Sprintf("%s on %s: nothing in %s tells of the runs that have written them, so that it is an older or another copy of the directory that they used, or could not be written to then",
		strings.Join(names, ", "), l.place.Absence().Where(ids...), l.dir())
	if last, by := t.Newest(0); last != nil && !slices.ContainsFunc(complete, func(c catalog.Candidate) bool { return c.ID == last.ID }) {
		text += fmt.Sprintf("; %v, the newest of which anything there tells (%s), is gone", last.ID, strings.Join(by, ", "))
	}
	return text + "; to go on from what they used put that directory back in its place; to go on without them move them away from the nodes, before a version is written"
}
