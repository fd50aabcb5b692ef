package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
)

// What a run has set aside as damaged stays stored until enough newer versions are
// complete. It looks like a branch that could be used, so the record of the run names it,
// and those of later runs, of which each knows what the one before has named.

// leftDamaged describes those that would be a branch if they were not damaged. Of the
// newest version it is found out once more. "" if there are none.
func leftDamaged(damaged []storage.ID, candidates, unknown []catalog.Candidate) string {
	var names []string
	for _, id := range damaged {
		is := func(c catalog.Candidate) bool { return c.ID == id }
		if slices.ContainsFunc(candidates, func(c catalog.Candidate) bool { return c.Other && is(c) }) || slices.ContainsFunc(unknown, is) {
			names = append(names, id.String())
		}
	}
	if names == nil || len(candidates) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: an earlier run has set it aside, and %v, which is taken for the newest, does not come from it; it will be deleted when enough newer versions are complete: to keep it copy it away now",
		strings.Join(names, ", "), candidates[0].ID)
}
