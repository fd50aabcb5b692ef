package checkpoint

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/craft-go/craft/storage/container"
)

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
	case child.closed:
		return cp.outOfOrder(child.afterClose("SubCP"))
	case cp.closed:
		return cp.outOfOrder(cp.afterClose("SubCP"))
	case child.line.attempt.begun:
		return cp.outOfOrder(fmt.Sprintf("SubCP after RestartIfNeeded or a write of its child %q", child.name))
	case child.line.parent != nil:
		return wrong("%q is nested in %q already", child.name, child.line.parent.name)
	case child.comm.Size() != cp.comm.Size():
		return wrong("%q is of %d ranks, its parent of %d", child.name, child.comm.Size(), cp.comm.Size())
	}
	depth := 1
	for p := cp.line; p != nil; p = p.parent {
		if p == child.line {
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
	child.line.parent = cp.line
	child.meet.tempo = cp.meet.tempo // the job ends at a call of either
	cp.line.children = append(cp.line.children, child.line)
	return nil
}

// leaveParent takes the checkpoint out of the one around it, which it still knows.
func (l *lineage) leaveParent() {
	if p := l.parent; p != nil {
		p.children = slices.DeleteFunc(p.children, func(c *lineage) bool { return c == l })
	}
}

// nesting says in which checkpoints one is nested, for comparisons and messages.
func nesting(ancestors []container.Ancestor) string {
	if len(ancestors) == 0 {
		return "not nested"
	}
	return "nested in " + join(ancestors, " in ", func(a container.Ancestor) string { return strconv.Quote(a.Name) })
}

// parentAway describes a version that tells of one of the parent, complete when it was
// written, where the parent has none so new and nothing that tells of one: its directory
// is elsewhere now, or an old one has been put back. "" if there is none. Versions of the
// parent are deleted when the stage that they are in has ended, while what was nested in
// them may still be there.
func (l *looker) parentAway(stored []sighting) string {
	p := l.line.parent
	if p == nil {
		return ""
	}
	for _, v := range stored {
		h := v.header
		field, _ := h.Fields.Get(container.FieldSettled)
		settled, _ := binary.Uvarint(field)
		if settled > p.attempt.last && nesting(h.Ancestors) == nesting(l.line.ancestors()) && p.belongs(h.Ancestors[1:]) {
			return fmt.Sprintf("%s was written when version %d of %q, around it, was complete, and nothing in %s tells of one so new: put back what is missing there, or mount the file system that it is on; what is here will be deleted as soon as %q writes; if that was removed on purpose, delete %s too",
				l.home.Path(v.ID), settled, p.name, p.dir(), p.name, l.dir())
		}
	}
	return ""
}
