package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage"
)

// What a run has set aside as damaged stays stored until enough newer versions are
// complete. It looks like a branch that could be used, so the record of the run names it,
// and those of later runs, of which each knows what the one before has named.

// damagedBefore are the stored versions that the last run has named as damaged. One that
// a version comes from which is not named has been mended since, by hand.
func damagedBefore(named []storage.ID, stored []storage.Entry, candidates []candidate) (ids []storage.ID) {
	mended, newer := make(map[storage.ID]bool), false
	for _, c := range candidates {
		if c.Other {
			continue
		}
		mended[c.ID] = newer
		newer = newer || !slices.Contains(named, c.ID)
	}
	for _, e := range stored {
		if e.Complete() && slices.Contains(named, e.ID) && !mended[e.ID] {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// leftDamaged describes those that would be a branch if they were not damaged. Of the
// newest version it is found out once more. "" if there are none.
func leftDamaged(damaged []storage.ID, candidates, unknown []candidate) string {
	var names []string
	for _, id := range damaged {
		is := func(c candidate) bool { return c.ID == id }
		if slices.ContainsFunc(candidates, func(c candidate) bool { return c.Other && is(c) }) || slices.ContainsFunc(unknown, is) {
			names = append(names, id.String())
		}
	}
	if names == nil || len(candidates) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: an earlier run has set it aside, and %v, which is taken for the newest, does not come from it; it will be deleted when enough newer versions are complete: to keep it copy it away now",
		strings.Join(names, ", "), candidates[0].ID)
}

// setAside adds a version that has turned out to be damaged.
func (h *history) setAside(id storage.ID) {
	if !slices.Contains(h.damaged, id) {
		h.damaged = append(h.damaged, id)
	}
}

// mended takes a version that has turned out not to be damaged out of them again.
func (h *history) mended(id storage.ID) {
	h.damaged = slices.DeleteFunc(h.damaged, func(d storage.ID) bool { return d == id })
}

// namedDamaged names those that are stored, for the record.
func (h *history) namedDamaged() (names []string) {
	for _, id := range h.damaged {
		if slices.ContainsFunc(h.entries, func(e storage.Entry) bool { return e.ID == id }) {
			names = append(names, id.String())
		}
	}
	return names
}
