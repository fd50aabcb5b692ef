package offline

import (
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
)

// wayBack is the way back that decides what is gone on from; nil: none does.
func (c *Checkpoint) wayBack(complete []catalog.Candidate, told catalog.Told) *catalog.WayBack {
	if c.WayBack == nil {
		return nil
	}
	w := catalog.NewWayBack(c.WayBack, complete, told.Runs)
	if !w.InEffect(complete, told, storage.BegunAnew(told.Runs)) {
		return nil
	}
	return &w
}

// GoesBack is the note about a way back that a start has to go by; nil: there is none.
func (c *Checkpoint) GoesBack(list []Version) *storage.WayBack {
	if c.wayBack(whole(candidates(list), list), c.told()) == nil {
		return nil
	}
	return c.WayBack
}

// Choices are the versions that somebody can go back to, or keep.
func (c *Checkpoint) Choices(list []Version) []catalog.Choice {
	all, told := candidates(list), c.told()
	var partial []storage.ID
	for _, v := range list {
		if !slices.ContainsFunc(all, func(one catalog.Candidate) bool { return one.ID == v.ID }) {
			partial = append(partial, v.ID)
		}
	}
	return catalog.ChoicesOf(all, partial, told, c.Marks, c.wayBack(all, told))
}

// Nested names the checkpoint around this one; "": there is none, as far as is known.
func (c *Checkpoint) Nested(list []Version) string {
	for _, v := range slices.Backward(list) {
		if v.Header != nil {
			for _, a := range v.Header.Ancestors {
				return a.Name
			}
			return ""
		}
	}
	for _, r := range slices.Backward(c.Runs) {
		for _, name := range r.Ancestors {
			return name
		}
	}
	return ""
}

// whole are the candidates that are complete here.
func whole(all []catalog.Candidate, list []Version) []catalog.Candidate {
	return slices.DeleteFunc(slices.Clone(all), func(one catalog.Candidate) bool {
		return !slices.ContainsFunc(list, func(v Version) bool { return v.ID == one.ID && v.Complete() })
	})
}
