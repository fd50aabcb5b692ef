package catalog

import (
	"fmt"
	"slices"

	"github.com/craft-go/craft/storage"
)

// LossStatus is what has become of a version of which parts are missing.
type LossStatus int

const (
	// Unclear: it was complete and has lost parts, or never was.
	Unclear LossStatus = iota
	// Lost: it was complete. It can be again, if nodes come back.
	Lost
	// Interrupted: it never was complete, and nothing is lost.
	Interrupted
)

// Past is what is told of the time before a survey.
type Past struct {
	// Newest is the newest version that the nodes had; zero: they have had none.
	Newest storage.ID
	// Ranks are the nodes on which the ranks were, by rank: their numbers now, Gone if they
	// are not here.
	Ranks map[int][]Place
}

// LossStatus says what has become of a version that is found incomplete.
func (v View) LossStatus(id storage.ID, before Past) LossStatus {
	switch {
	case wasComplete(v, id, before.Newest):
		return Lost
	case Volatile(v, id):
		if neverInMemory(v, id) {
			return Interrupted
		}
		return Unclear
	case notForNodes(v, id), nothingLost(v, id, before.Ranks):
		return Interrupted
	}
	return Unclear
}

// wasComplete reports that a version is known to have been complete: somebody says so, or
// its attempt has gone on to a newer one.
func wasComplete(v View, id, newest storage.ID) bool {
	later := func(other storage.ID) bool { return other.Attempt == id.Attempt && other.Version > id.Version }
	return newest == id || later(newest) || slices.ContainsFunc(v.IDs(), later)
}

// notForNodes reports whether a version was written to the home alone, as its header says:
// no node has lost anything of it.
func notForNodes(v View, id storage.ID) bool {
	f, known := v.facts[id]
	return known && f.Plan.On(storage.TierNode) == 0 && InFiles(v).Any(id)
}

// neverInMemory reports whether a version in memory alone never was complete, as the one before it
// is there, which goes when it is.
func neverInMemory(v View, id storage.ID) bool {
	return slices.ContainsFunc(v.IDs(), func(other storage.ID) bool {
		return other.Version < id.Version && v.facts[other].Stage == v.facts[id].Stage && InMemory(v).Complete(other)
	})
}

// nothingLost reports that the missing parts of a version were never written: the
// nodes of their ranks are here and have other parts of them.
func nothingLost(v View, id storage.ID, was map[int][]Place) bool {
	ids, size := v.IDs(), v.Size(id)
	for rank := range size { // ends at the first one of which nobody knows
		part := storage.Part{Rank: rank, Size: size}
		hasNothing := func(n Place) bool {
			return n == Gone || !slices.ContainsFunc(ids, func(other storage.ID) bool {
				return other != id && slices.Contains(v.Nodes(PartOf(other, part)), n)
			})
		}
		if !v.Recoverable(id, part) && (len(was[rank]) == 0 || slices.ContainsFunc(was[rank], hasNothing)) {
			return false
		}
	}
	return true
}

// Overtaken reports whether a version, or a newer one, can be had.
func (v View) Overtaken(id storage.ID) bool {
	return slices.ContainsFunc(v.IDs(), func(other storage.ID) bool {
		return (other == id || other.Version > id.Version) && v.Complete(other)
	})
}

// MissingText names the ranks whose parts cannot be had; "" if none is missing, or nothing
// tells how many there were.
func (v View) MissingText(id storage.ID) string {
	e, size := v.Entry(id), v.Size(id)
	if e.Size() == 0 && size > 0 {
		return fmt.Sprintf("0 to %d", size-1)
	}
	return e.MissingText()
}
