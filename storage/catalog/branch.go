package catalog

import (
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// Origins are the versions that attempts were restored from, as far as that is known.
//
// A computation has branches when a run was restored from a version although there was a newer
// one, which was away. When that comes back it is of the other branch: the one that was written
// last is the newest, because a run goes on behind all numbers that anything tells of.
type Origins map[container.AttemptID]storage.ID

// restoredFrom is the version that a run was restored from; ok is false if there is none.
func restoredFrom(run storage.Record) (id storage.ID, ok bool) {
	attempt, ok := storage.ParseAttempt(run.RestoredAttempt)
	return storage.ID{Version: run.RestoredVersion, Attempt: attempt}, ok && run.RestoredVersion > 0
}

// Line is what leads to a version: its attempt up to it, the attempt that was restored
// from up to that version, and so on.
type Line struct {
	upTo  map[container.AttemptID]uint64 // the highest number of an attempt that is on it
	first uint64                         // what is before that is not known

	origins Origins
}

// Line returns what leads to a version.
func (o Origins) Line(to storage.ID) Line {
	l := Line{upTo: make(map[container.AttemptID]uint64), origins: o}
	for at := to; !at.IsZero(); at = o[at.Attempt] {
		if _, again := l.upTo[at.Attempt]; again { // no program writes that
			break
		}
		l.upTo[at.Attempt], l.first = at.Version, at.Version
	}
	return l
}

// LeavesOut reports whether a version is certainly not on the line: numbers only grow
// along it, and an attempt that has left it does not lead to it.
func (l Line) LeavesOut(id storage.ID) bool {
	if last, on := l.upTo[id.Attempt]; on {
		return id.Version > last
	}
	at := l.origins[id.Attempt]
	for range l.origins { // no further, if they lead round
		if l.Passes(at.Attempt) {
			return true
		}
		at = l.origins[at.Attempt]
	}
	return id.Version > l.first
}

// Passes reports whether anything of an attempt is on the line.
func (l Line) Passes(attempt container.AttemptID) bool {
	_, on := l.upTo[attempt]
	return on
}

// GoneOnFrom is, of a checkpoint, the version from which the run went on that was the last to
// store anything, if that is only of checkpoints nested in this one. The zero ID: there is none,
// it is not among those stored, or a newer one is. Other versions with higher
// numbers are of a branch which that run did not see.
func GoneOnFrom(runs []storage.Record, stored []storage.ID) storage.ID {
	run := lastToStore(runs)
	if run == nil || run.LastWritten > 0 || !run.NestedStored {
		return storage.ID{}
	}
	id, ok := restoredFrom(*run)
	itself, _ := storage.ParseAttempt(run.Attempt)
	newer := func(other storage.ID) bool { return other.Version > run.LastVersion || other.Attempt == itself }
	if !ok || !slices.Contains(stored, id) || slices.ContainsFunc(stored, newer) {
		return storage.ID{}
	}
	return id
}

func lastToStore(runs []storage.Record) *storage.Record {
	for i := range slices.Backward(runs) {
		if r := &runs[i]; r.LastWritten > 0 || r.NestedStored || r.AnewStored {
			return r
		}
	}
	return nil
}
