package checkpoint

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// point is where a checkpoint stands, as those nested in it see it: the version
// that was restored or captured last, and the calls of UpdateAndWrite since
// then that captured nothing. Version 0: none. It is the same on all ranks.
type point struct {
	storage.ID
	iteration int64
	calls     uint64
}

// pointOf is where a checkpoint stands that has just restored or captured a version.
func pointOf(h container.Header) point {
	id, _ := storage.Identity(h)
	return point{ID: id, iteration: h.Iteration}
}

// lineage is where a checkpoint stands: in its run, among the versions that are stored, and
// in the checkpoints around it.
type lineage struct {
	*core

	parent   *lineage
	children []*lineage
	reg      *registry // of the same checkpoint, and so are they of those around and in it
	up       *upkeep
	out      *writing

	attempt  attempt // of this run; zero before it has begun
	point    point
	entered  *point                 // where the present stage was entered by RestartIfNeeded; nil: it was not called
	stored   catalog.Versions       // that rank 0 decides about: the job's lock keeps this true
	flight   atomic.Pointer[flight] // the asynchronous write that is not settled
	redo     redo
	good     atomic.Pointer[good] // the newest version that is complete
	finished bool                 // the last version is of a run that was finished
	end      demand.Cause         // that the run was ended by
	demands  *demand.Point        // where the job is asked for that; nil: not known yet
	branch   branching            // of the outermost one, after a way back
}

// nextStage is called by every UpdateAndWrite and Write, whether it captures
// something or not: the stage has ended. In the next one a restart would find
// nothing of the checkpoints in this one.
func (l *lineage) nextStage() {
	l.point.calls++
	for _, child := range l.children {
		child.beforeFirst()
	}
}

// beforeFirst puts the checkpoint, and those in it, where they stand when nothing
// was captured in the stage around them.
func (l *lineage) beforeFirst() {
	l.point, l.attempt.settled = point{}, 0
	if l.entered != nil {
		l.entered = &point{}
	}
	l.redo.reached, l.redo.before = container.NoIteration, container.NoIteration
	if f := l.flight.Load(); f != nil {
		f.before = point{} // what it stores belongs to the stage that has ended
	}
	for _, child := range l.children {
		child.beforeFirst()
	}
}

// parentBegun returns an error unless it is known what is restored of the
// checkpoints around this one.
func (l *lineage) parentBegun(context.Context) error {
	if l.parent == nil || l.parent.attempt.begun {
		return nil
	}
	return fmt.Errorf("%w: it is nested in %q: call RestartIfNeeded of that first", ErrState, l.parent.name)
}

// stageEnded returns an error where RestartIfNeeded is called again although the stage
// that it was called in, and in which this checkpoint has come further, has not ended: a
// restart would take the versions of one loop for those of the other.
func (l *lineage) stageEnded() error {
	if l.parent == nil || l.entered == nil || *l.entered == l.point {
		return nil
	}
	return l.outOfOrder(fmt.Sprintf("RestartIfNeeded again in one stage of %q: call UpdateAndWrite of %q at the end of each, also when it is not due",
		l.parent.name, l.parent.name))
}

// ancestors are the points of the checkpoints around this one, innermost first.
func (l *lineage) ancestors() []container.Ancestor { return l.parent.points() }

// points are that of this checkpoint and those of its ancestors.
func (l *lineage) points() (out []container.Ancestor) {
	for p := l; p != nil; p = p.parent {
		out = append(out, container.Ancestor{Name: p.name, Attempt: p.point.Attempt, Version: p.point.Version, Calls: p.point.calls})
	}
	return out
}

// versionOf is the one that an ancestor was at.
func versionOf(a container.Ancestor) storage.ID {
	return storage.ID{Version: a.Version, Attempt: a.Attempt}
}

// unreachable reports that a restart could not come to the present stage, so that
// nothing stored in it could ever be restored.
func (l *lineage) unreachable() bool {
	for p := l.parent; p != nil; p = p.parent {
		if p.point.calls > 0 {
			return true
		}
	}
	return false
}

// belongs reports whether a version with these ancestors is of the present stage.
func (l *lineage) belongs(stored []container.Ancestor) bool {
	return !l.unreachable() && slices.Equal(stored, l.ancestors())
}

// stageIsNamed reports whether a version of an ancestor names the present stage: then
// nothing of another computation can belong to it.
func (l *lineage) stageIsNamed() bool {
	return slices.ContainsFunc(l.ancestors(), func(a container.Ancestor) bool { return a.Version > 0 })
}

// noteSettled says in the header which version of the parent is known to be complete.
func (l *lineage) noteSettled(h *container.Header) {
	if p := l.parent; p != nil && p.attempt.settled > 0 {
		h.Fields = h.Fields.With(container.FieldSettled, binary.AppendUvarint(nil, p.attempt.settled))
	}
}

// reachable reports whether a restart from what is stored, or is being stored, of
// the ancestors could come to the stage of a version. It is for rank 0.
func (l *lineage) reachable(stored []container.Ancestor) bool {
	p := l.parent
	for i, a := range stored {
		if p == nil || a.Calls > 0 {
			return false
		}
		outer := catalog.StageOf(stored[i+1:])
		switch {
		case versionOf(a) == p.point.ID, p.inFlight(versionOf(a)):
			// The present one, or one that is still on its way to storage.
		case a.Version == 0:
			if p.restorable(outer) {
				return false // that one would be restored
			}
		case !p.stored.Has(versionOf(a)):
			return false
		}
		p = p.parent
	}
	return p == nil
}

// restorable reports whether a restart would find a version of this checkpoint in a stage.
func (l *lineage) restorable(stage catalog.Stage) bool {
	top := l.outermost()
	return l.stored.AnyOf(stage, func(h container.Header) bool {
		return !top.attempt.anewStored || h.Lineage == top.attempt.lineage
	})
}

// inFlight: whether that version will be stored is not known yet.
func (l *lineage) inFlight(id storage.ID) bool {
	f := l.flight.Load()
	return f != nil && id == f.id()
}

// parentInFlight reports whether a version of a checkpoint around this one is on its way.
func (l *lineage) parentInFlight() bool {
	for p := l.parent; p != nil; p = p.parent {
		if p.flight.Load() != nil {
			return true
		}
	}
	return false
}

// outermost is the one that is nested in no other.
func (l *lineage) outermost() *lineage {
	for l.parent != nil {
		l = l.parent
	}
	return l
}
