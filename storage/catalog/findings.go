package catalog

import (
	"fmt"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// Findings are what somebody has found at one place.
type Findings struct {
	Objects []storage.ObjectKey
	Facts   []Of[Facts]
	Sets    []Of[Set]
	Away    []storage.Entry // versions that the place may have, without parts
	Unread  []Of[string]    // why a header cannot be read now
	Unseen  string          // why it cannot be seen what the place has; "": it can
}

// Of is something of a version.
type Of[T any] struct {
	ID storage.ID
	It T
}

// List enters versions as a driver's List has them.
func (f *Findings) List(entries []storage.Entry) {
	for _, e := range entries {
		for _, part := range e.Parts {
			f.Objects = append(f.Objects, PartOf(e.ID, part))
		}
		if len(e.Away) > 0 || len(e.Parts) == 0 { // whose number is used
			f.Away = append(f.Away, storage.Entry{ID: e.ID, Away: e.Away})
		}
	}
}

// FactsOf are those of a header.
func FactsOf(h container.Header) Facts {
	return Facts{Plan: storage.Planned(h), Oldest: h.Oldest, Stage: StageOf(h.Ancestors)}
}

// Header enters what a header says, or why it cannot be read now. It reports whether it has
// been read.
func (f *Findings) Header(id storage.ID, h container.Header, err error) bool {
	switch {
	case err == nil:
		f.Facts = append(f.Facts, Of[Facts]{id, FactsOf(h)})
	case storage.Passing(err):
		f.Unread = append(f.Unread, Of[string]{id, err.Error()})
	}
	return err == nil
}

// Merge enters what was found at a place.
func (c *Catalog) Merge(f Findings, at Place) {
	for _, key := range f.Objects {
		c.Add(key, at)
	}
	for _, e := range f.Away {
		c.away[e.ID] = append(c.away[e.ID], e.Away...)
	}
	if f.Unseen != "" {
		c.unseen = append(c.unseen, f.Unseen)
	}
	for _, u := range f.Unread {
		c.unread[u.ID] = u.It
	}
	for _, k := range f.Facts {
		if _, known := c.facts[k.ID]; !known {
			c.facts[k.ID] = k.It
		}
	}
	for _, k := range f.Sets {
		c.AddSet(k.ID, k.It, func(int) Place { return at })
	}
}

// CheckFacts returns an error if no header of a version that can be had could be read,
// and one may be read later: nothing tells then what the version refers to.
func (v View) CheckFacts() error {
	for _, id := range v.IDs() {
		_, known := v.facts[id]
		if why := v.unread[id]; why != "" && !known && v.Complete(id) {
			return fmt.Errorf("version %d: none of its headers can be read now: %s", id.Version, why)
		}
	}
	return nil
}
