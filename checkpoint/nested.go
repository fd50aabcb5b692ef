package checkpoint

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// point is where a checkpoint stands, as those nested in it see it: the version
// that was restored or captured last, and the calls of UpdateAndWrite since
// then that captured nothing. Version 0: none. It is the same on all ranks.
type point struct {
	attempt container.AttemptID
	version uint64
	calls   uint64
}

// nextStage is called by every UpdateAndWrite and Write, whether it captures
// something or not: the stage has ended. In the next one a restart would find
// nothing of the checkpoints in this one.
func (cp *Checkpoint) nextStage() {
	cp.point.calls++
	for _, child := range cp.children {
		child.beforeFirst()
	}
}

// beforeFirst puts the checkpoint, and those in it, where they stand when nothing
// was captured in the stage around them.
func (cp *Checkpoint) beforeFirst() {
	cp.point, cp.attempt.settled = point{}, 0
	if cp.entered != nil {
		cp.entered = &point{}
	}
	cp.redo.reached, cp.redo.before = container.NoIteration, container.NoIteration
	if f := cp.flight.Load(); f != nil {
		f.before = point{} // what it stores belongs to the stage that has ended
	}
	for _, child := range cp.children {
		child.beforeFirst()
	}
}

// maxDepth is how deep checkpoints may be nested.
const maxDepth = 64

// SubCP nests child in cp: what child stores belongs to the stage that cp is in,
// and as soon as a version of cp is complete, all older ones of child are
// invalid, and those of its children. A restart reads, outermost first, the
// newest version of each that belongs to what was read of those around it.
//
// It is called before RestartIfNeeded of child. UpdateAndWrite of cp is called
// once per stage, at its end, also when it is not due; an error of it ends the
// stage as well. child may be made anew for each stage or kept. A write of child in a stage whose beginning cp has not
// stored, because its frequency is above 1, could never be restored: it is
// skipped.
func (cp *Checkpoint) SubCP(child *Checkpoint) error {
	if cp.disabled() {
		return nil
	}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("checkpoint %q: %w: SubCP: %s", cp.name, ErrArgument, fmt.Sprintf(format, args...))
	}
	if child == nil {
		return wrong("the child is nil")
	}
	if err := cp.enter("SubCP"); err != nil {
		return err
	}
	defer cp.calling.Unlock()
	if child != cp {
		if err := child.enter("SubCP"); err != nil {
			return err
		}
		defer child.calling.Unlock()
	}
	switch {
	case cp.closed || child.closed:
		late := cp
		if child.closed {
			late = child
		}
		return cp.outOfOrder(late.afterClose("SubCP"))
	case child.attempt.begun:
		return cp.outOfOrder(fmt.Sprintf("SubCP after RestartIfNeeded or a write of its child %q", child.name))
	case child.parent != nil:
		return wrong("%q is nested in %q already", child.name, child.parent.name)
	case child.comm.Size() != cp.comm.Size():
		return wrong("%q is of %d ranks, its parent of %d", child.name, child.comm.Size(), cp.comm.Size())
	}
	depth := 1
	for p := cp; p != nil; p = p.parent {
		if p == child {
			return wrong("%q would be nested in itself", child.name)
		}
		if p.dir() == child.dir() {
			return wrong("%q and %q use one directory, %s: give them different names", child.name, p.name, p.dir())
		}
		depth++
	}
	if depth > maxDepth {
		return wrong("%d checkpoints in one another (allowed: %d)", depth, maxDepth)
	}
	child.parent = cp
	cp.children = append(cp.children, child)
	return nil
}

func (cp *Checkpoint) leaveParent() {
	if p := cp.parent; p != nil {
		p.children = slices.DeleteFunc(p.children, func(c *Checkpoint) bool { return c == cp })
	}
}

// nesting says in which checkpoints one is nested, for comparisons and messages.
func nesting(ancestors []container.Ancestor) string {
	if len(ancestors) == 0 {
		return "not nested"
	}
	var names []string
	for _, a := range ancestors {
		names = append(names, strconv.Quote(a.Name))
	}
	return "nested in " + strings.Join(names, " in ")
}

// parentBegun returns an error unless it is known what is restored of the
// checkpoints around this one.
func (cp *Checkpoint) parentBegun() error {
	if cp.parent == nil || cp.parent.attempt.begun {
		return nil
	}
	return fmt.Errorf("%w: it is nested in %q: call RestartIfNeeded of that first", ErrState, cp.parent.name)
}

// stageEnded returns an error where RestartIfNeeded is called again although the stage
// that it was called in, and in which this checkpoint has come further, has not ended: a
// restart would take the versions of one loop for those of the other.
func (cp *Checkpoint) stageEnded() error {
	if cp.parent == nil || cp.entered == nil || *cp.entered == cp.point {
		return nil
	}
	return cp.outOfOrder(fmt.Sprintf("RestartIfNeeded again in one stage of %q: call UpdateAndWrite of %q at the end of each, also when it is not due",
		cp.parent.name, cp.parent.name))
}

// ancestors are the points of the checkpoints around this one, innermost first.
func (cp *Checkpoint) ancestors() []container.Ancestor {
	var out []container.Ancestor
	for p := cp.parent; p != nil; p = p.parent {
		out = append(out, container.Ancestor{Name: p.name, Attempt: p.point.attempt, Version: p.point.version, Calls: p.point.calls})
	}
	return out
}

// unreachable reports that a restart could not come to the present stage, so that
// nothing stored in it could ever be restored.
func (cp *Checkpoint) unreachable() bool {
	for p := cp.parent; p != nil; p = p.parent {
		if p.point.calls > 0 {
			return true
		}
	}
	return false
}

// belongs reports whether a version with these ancestors is of the present stage.
func (cp *Checkpoint) belongs(stored []container.Ancestor) bool {
	return !cp.unreachable() && slices.Equal(stored, cp.ancestors())
}

// stageIsNamed reports whether a version of an ancestor names the present stage: then
// nothing of another computation can belong to it.
func (cp *Checkpoint) stageIsNamed() bool {
	return slices.ContainsFunc(cp.ancestors(), func(a container.Ancestor) bool { return a.Version > 0 })
}

// noteSettled says in the header which version of the parent is known to be complete.
func (cp *Checkpoint) noteSettled(h *container.Header) {
	if cp.parent == nil {
		return
	}
	if v := cp.parent.attempt.settled; v > 0 {
		h.Fields = h.Fields.With(container.FieldSettled, binary.AppendUvarint(nil, v))
	}
}

// parentAway describes a version that tells of one of the parent, complete when it was
// written, where the parent has none so new and nothing that tells of one: its directory
// is elsewhere now, or an old one has been put back. "" if there is none. Versions of the
// parent are deleted when the stage that they are in has ended, while what was nested in
// them may still be there.
func (cp *Checkpoint) parentAway(stored map[storage.ID]container.Header) string {
	p := cp.parent
	if p == nil {
		return ""
	}
	for id, h := range stored {
		field, _ := h.Fields.Get(container.FieldSettled)
		settled, _ := binary.Uvarint(field)
		if settled > p.attempt.last && nesting(h.Ancestors) == nesting(cp.ancestors()) && p.belongs(h.Ancestors[1:]) {
			return fmt.Sprintf("%s was written when version %d of %q, around it, was complete, and nothing in %s tells of one so new: put back what is missing there, or mount the file system that it is on; what is here will be deleted as soon as %q writes; if that was removed on purpose, delete %s too",
				cp.home.Path(id), settled, p.name, p.dir(), p.name, cp.dir())
		}
	}
	return ""
}

// reachable reports whether a restart from what is stored, or is being stored, of
// the ancestors could come to the stage of a version. It is for rank 0.
func (cp *Checkpoint) reachable(stored []container.Ancestor) bool {
	p := cp.parent
	for i, a := range stored {
		if p == nil || a.Calls > 0 {
			return false
		}
		outer := catalog.StageOf(stored[i+1:])
		switch {
		case a.Attempt == p.point.attempt && a.Version == p.point.version, p.inFlight(a):
			// The present one, or one that is still on its way to storage.
		case a.Version == 0:
			if p.restorable(outer) {
				return false // that one would be restored
			}
		case !p.stored.Has(storage.ID{Version: a.Version, Attempt: a.Attempt}):
			return false
		}
		p = p.parent
	}
	return p == nil
}

// restorable reports whether a restart would find a version of this checkpoint in a stage.
func (cp *Checkpoint) restorable(stage catalog.Stage) bool {
	top := cp.outermost()
	return cp.stored.AnyOf(stage, func(h container.Header) bool {
		return !top.attempt.anewStored || h.Lineage == top.attempt.lineage
	})
}

// inFlight: whether that version will be stored is not known yet.
func (cp *Checkpoint) inFlight(a container.Ancestor) bool {
	f := cp.flight.Load()
	return f != nil && a.Version == f.header.Version && a.Attempt == f.header.Attempt
}

// pruneChildren deletes what a new version of cp has made useless, as each of them does.
func (cp *Checkpoint) pruneChildren(ctx context.Context) {
	for _, child := range cp.children {
		if !child.attempt.begun {
			continue
		}
		child.prune()
		child.maintenance.add(due{remove: child.stored.Overtake()})
		if child.writer != nil {
			child.startMaintenance()
		} else {
			child.doUrgent(context.WithoutCancel(ctx))
		}
		child.pruneChildren(ctx)
	}
}

// makeRoom deletes on rank 0 what need not be kept, of all checkpoints that are nested
// in one another and write in the program's calls. It returns how many versions are gone.
func (cp *Checkpoint) makeRoom(ctx context.Context) (removed int) {
	if cp.writer == nil && cp.attempt.begun {
		cp.prune() // also what a run has left that was killed
		removed = cp.doMaintenance(ctx)
	}
	for _, child := range cp.children {
		removed += child.makeRoom(ctx)
	}
	return removed
}

// outermost is the one that is nested in no other.
func (cp *Checkpoint) outermost() *Checkpoint {
	for cp.parent != nil {
		cp = cp.parent
	}
	return cp
}
