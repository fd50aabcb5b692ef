package storage

import "slices"

// Retention decides which versions may be deleted (docs/architecture.md,
// "Retention"). It is a pure function of what is known of them.
type Retention struct {
	// Keep is the number of newest complete versions that stay, at least 1.
	Keep int
	// Verified is the newest version that was read back with its checksums; it
	// stays however old it is. The zero ID: none.
	Verified ID
	// Damaged are complete versions that turned out not to be readable. They do
	// not count among the Keep newest.
	Damaged []ID
}

// Prunable returns the versions among entries that may go: those older than
// the Keep-th newest complete one, except the newest verified one. Incomplete
// versions go by their age like any other.
func (r Retention) Prunable(entries []Entry) []ID {
	var good []ID
	for _, e := range entries {
		if e.Complete() && !slices.Contains(r.Damaged, e.ID) {
			good = append(good, e.ID)
		}
	}
	keep := max(r.Keep, 1)
	if len(good) < keep {
		return nil
	}
	slices.SortFunc(good, ID.Compare)
	floor := good[len(good)-keep]
	var out []ID
	for _, e := range entries {
		if e.ID.Version < floor.Version && e.ID != r.Verified {
			out = append(out, e.ID)
		}
	}
	return out
}
