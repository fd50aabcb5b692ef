package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/stack"
)

// origins finds out from headers and records what attempts were restored from.
func (t *told) origins(complete []candidate) catalog.Origins {
	o := catalog.RecordedOrigins(t.runs)
	for _, c := range complete {
		if !c.Origin.IsZero() {
			o[c.ID.Attempt] = c.Origin
		}
	}
	return o
}

// putOthersLast brings the candidates that the head does not come from, which is the first
// one if it is not among them, behind the others, and describes them and those that the home
// does not know of, but for those that are known to be damaged; "" if there are none.
func putOthersLast(o catalog.Origins, candidates, unknown []candidate, damaged []storage.ID, head storage.ID) ([]candidate, string) {
	if len(candidates) == 0 {
		return nil, ""
	}
	first := candidates[0].ID
	if slices.ContainsFunc(candidates, func(c candidate) bool { return c.ID == head }) {
		first = head
	}
	line, same, others := o.Line(first), []candidate(nil), []candidate(nil)
	for _, c := range candidates {
		if c.Other = line.LeavesOut(c.ID); c.Other {
			others = append(others, c)
		} else {
			same = append(same, c)
		}
	}
	same = append(same, others...)
	var names []string
	for _, c := range append(others, unknown...) { // which may be of another computation
		if !slices.Contains(names, c.ID.String()) && !slices.Contains(damaged, c.ID) {
			names = append(names, c.ID.String())
		}
	}
	if names == nil {
		return same, ""
	}
	return same, fmt.Sprintf("%s: %v, which is taken for the newest, does not come from them; they will be deleted when enough newer versions are complete: to keep them copy them away now, to use them instead move away that one and what else is of its branch",
		strings.Join(names, ", "), first)
}

// overtaken describes a complete version of another computation than that of the
// candidates, which was written after them although its number is lower: its run did not
// know of them, because they were away, or in a backup. "" if nothing tells of one.
func (cp *Checkpoint) overtaken(t told, complete, candidates []candidate) string {
	if cp.parent != nil || len(candidates) == 0 || candidates[0].Lineage == nil {
		return ""
	}
	first, by := candidates[0], ""
	if cp.stack == nil || cp.stack.Kept(first.ID).Home { // else LATEST.json need not know of it
		by = filestore.LatestName
	}
	for _, r := range slices.Backward(t.runs) {
		if attempt, _ := storage.ParseAttempt(r.Attempt); attempt == first.ID.Attempt {
			return ""
		}
		if r.LastWritten > 0 {
			by = recordOf(r)
			break
		}
	}
	at := slices.IndexFunc(t.versions, func(one telling) bool { return one.by == by })
	if at < 0 {
		return ""
	}
	last := t.versions[at]
	if last.lineage == nil || *last.lineage == *first.Lineage || last.id.Version > first.ID.Version ||
		!slices.ContainsFunc(complete, func(c candidate) bool { return c.ID == last.id }) {
		return ""
	}
	return fmt.Sprintf("%v, of another computation, was written after %v, as %s tells, and has the lower number, so that its run cannot have seen it; it will be deleted when enough newer versions are complete: to keep it copy it away now, to go on from it move away the versions with higher numbers",
		last.id, first.ID, last.by)
}

// unknownToHome counts the complete versions, newest first, that are on nodes alone and
// do not come from the last ones that the home tells of, whose numbers are lower: their
// run did not know of them, because somebody has put a backup of the home back while the
// nodes were absent. What was written last with this home is the newest all the same;
// if it is gone, what is of another computation and unannounced does not stand for it.
func (cp *Checkpoint) unknownToHome(complete []candidate, t told, noted stack.Noted) (n int) {
	newestOf := func(attempt container.AttemptID) int {
		return slices.IndexFunc(complete, func(c candidate) bool { return c.ID.Attempt == attempt })
	}
	last := noted.Reserved
	if newestOf(last.Attempt) < 0 { // it has written nothing
		last = storage.ID{}
	}
	for _, one := range t.versions {
		if one.id.Version > last.Version {
			last = one.id
		}
	}
	at := newestOf(last.Attempt)
	if at < 0 {
		gone := candidate{ID: last, Lineage: t.lineageOf(last.Attempt)}
		for n < len(complete) && cp.unannounced(complete[n].ID, t, noted) && ofAnotherLineage(complete[n], gone) {
			n++
		}
		return n
	}
	o := t.origins(complete)
	for n < at && cp.stack != nil && !cp.stack.Kept(complete[n].ID).Home && parted(o, complete[n], complete[at]) {
		n++
	}
	return n
}

// parted reports whether a version certainly does not come from another one.
func parted(o catalog.Origins, c, from candidate) bool {
	return ofAnotherLineage(c, from) || o.Line(from.ID).Passes(c.ID.Attempt) || o.Line(c.ID).LeavesOut(from.ID)
}

func ofAnotherLineage(c, from candidate) bool {
	return c.Lineage != nil && from.Lineage != nil && *c.Lineage != *from.Lineage
}
