package catalog

import (
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// Candidate is a complete version that may be restored.
type Candidate struct {
	ID    storage.ID
	Ranks int // that wrote it
	// Known is false if no header of it could be read; then the rest is not set.
	Known bool
	// Lineage may be known all the same; nil: it is not.
	Lineage     *container.LineageID
	Fingerprint []byte
	Ancestors   []container.Ancestor
	Origin      storage.ID // that its run was restored from; zero: none, or not known
	Branch      storage.BranchID
	Iteration   int64 // or container.NoIteration; of what is Known
	Other       bool  // the newest one does not come from it
}

// Describe enters what its header says.
func (c *Candidate) Describe(h container.Header) {
	c.Known, c.Lineage, c.Fingerprint, c.Ancestors = true, &h.Lineage, h.Fingerprint, h.Ancestors
	c.Origin, c.Branch, c.Iteration = storage.Origin(h), storage.Branch(h), h.Iteration
}

// NewestLineage keeps, of complete versions newest first, those of one lineage: that
// of the version with the highest number that is there or told of. Whose lineage nobody
// knows may belong to it. older is the number of those that do not, certain the highest
// number of a version whose lineage is known.
//
// Those that the home does not know of come last and decide nothing. own, if it is not
// nil, is the lineage all the same.
func NewestLineage(complete, unknown []Candidate, t Told, own *container.LineageID) (same []Candidate, older int, certain uint64) {
	for i := range complete {
		c := &complete[i]
		if c.Lineage == nil { // its header cannot be read, and perhaps another of its run
			at := slices.IndexFunc(complete, func(o Candidate) bool { return o.Known && o.ID.Attempt == c.ID.Attempt })
			if c.Lineage = t.LineageOf(c.ID.Attempt); at >= 0 {
				c.Lineage = complete[at].Lineage
			}
		}
	}
	lineage, certain := LineageOfNewest(complete, t)
	if own != nil {
		lineage = own
	}
	for _, c := range slices.Concat(complete, unknown) {
		switch {
		case c.Lineage != nil && (lineage == nil || *c.Lineage != *lineage):
			older++
		case c.Lineage != nil || older == 0:
			same = append(same, c)
		}
	}
	return same, older, certain
}

// LineageOfNewest is that of the version with the highest number that is there or told of,
// of those whose lineage is known, and that number; nil: there is none.
func LineageOfNewest(complete []Candidate, t Told) (lineage *container.LineageID, number uint64) {
	take := func(of *container.LineageID, by uint64) {
		if of != nil && by > number {
			lineage, number = of, by
		}
	}
	for _, c := range complete {
		take(c.Lineage, c.ID.Version)
	}
	for _, one := range t.Claims {
		take(one.Lineage, one.ID.Version)
	}
	return lineage, number
}

// OthersLast brings the candidates that the head does not come from behind the others, and
// returns these alone too. The head is the first one if it is not among them.
func OthersLast(o Origins, candidates []Candidate, head storage.ID) (ordered, others []Candidate) {
	if len(candidates) == 0 {
		return nil, nil
	}
	first := candidates[0].ID
	if slices.ContainsFunc(candidates, func(c Candidate) bool { return c.ID == head }) {
		first = head
	}
	line := o.Line(first)
	for _, c := range candidates {
		if c.Other = line.LeavesOut(c.ID); c.Other {
			others = append(others, c)
		} else {
			ordered = append(ordered, c)
		}
	}
	return append(ordered, others...), others
}

// Anew is the lineage that was begun anew, by the records, if it is gone on with in its
// first stage; nil: the newest version decides. A version of another one that is newer
// than the record is of a run that has left none.
func Anew(t Told, complete []Candidate) *container.LineageID {
	run := storage.BegunAnew(t.Runs)
	if run == nil {
		return nil
	}
	anew, _ := storage.ParseLineage(run.Anew)
	later := func(lineage *container.LineageID, number uint64) bool {
		return lineage != nil && *lineage != anew && number > run.LastVersion
	}
	if slices.ContainsFunc(complete, func(c Candidate) bool { return later(c.Lineage, c.ID.Version) }) ||
		slices.ContainsFunc(t.Claims, func(one Claim) bool { return later(one.Lineage, one.ID.Version) }) {
		return nil
	}
	return &anew
}

// UnknownToHome counts the complete versions, newest first, that are on nodes alone and
// do not come from the last ones that the home tells of, whose numbers are lower: their
// run did not know of them, because somebody has put a backup of the home back while the
// nodes were absent. What was written last with this home is the newest all the same;
// if it is gone, what is of another computation and unannounced does not stand for it.
// last is the version up to which an attempt has reserved numbers.
func UnknownToHome(complete []Candidate, t Told, last storage.ID, nodesAlone, unannounced func(storage.ID) bool) (n int) {
	newestOf := func(attempt container.AttemptID) int {
		return slices.IndexFunc(complete, func(c Candidate) bool { return c.ID.Attempt == attempt })
	}
	if newestOf(last.Attempt) < 0 { // it has written nothing
		last = storage.ID{}
	}
	for _, one := range t.Claims {
		if one.ID.Version > last.Version {
			last = one.ID
		}
	}
	at := newestOf(last.Attempt)
	if at < 0 {
		gone := Candidate{ID: last, Lineage: t.LineageOf(last.Attempt)}
		for n < len(complete) && unannounced(complete[n].ID) && ofAnotherLineage(complete[n], gone) {
			n++
		}
		return n
	}
	o := t.Origins(complete)
	for n < at && nodesAlone(complete[n].ID) && parted(o, complete[n], complete[at]) {
		n++
	}
	return n
}

// parted reports whether a version certainly does not come from another one.
func parted(o Origins, c, from Candidate) bool {
	return ofAnotherLineage(c, from) || o.Line(from.ID).Passes(c.ID.Attempt) || o.Line(c.ID).LeavesOut(from.ID)
}

func ofAnotherLineage(c, from Candidate) bool {
	return c.Lineage != nil && from.Lineage != nil && *c.Lineage != *from.Lineage
}

// StillDamaged are the stored versions that the last run has named as damaged. One that
// a version comes from which is not named has been repaired since, by hand.
func StillDamaged(named []storage.ID, stored []storage.Entry, candidates []Candidate) (ids []storage.ID) {
	repaired, newer := make(map[storage.ID]bool), false
	for _, c := range candidates {
		if c.Other {
			continue
		}
		repaired[c.ID] = newer
		newer = newer || !slices.Contains(named, c.ID)
	}
	for _, e := range stored {
		if e.Complete() && slices.Contains(named, e.ID) && !repaired[e.ID] {
			ids = append(ids, e.ID)
		}
	}
	return ids
}
