package checkpoint

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// nestedNames are the checkpoints right in this one that have a version of a stage. If the
// directory of one is away at the next start, nothing but the record of this one tells of it.
type nestedNames struct {
	in    catalog.Stage
	names []string
}

// mostNested bounds the record of a program that has a nested checkpoint for each of many parts.
const mostNested = 1000

// add reports whether that was not known.
func (n *nestedNames) add(in catalog.Stage, name string) bool {
	if n.in != in {
		*n = nestedNames{in: in}
	}
	if slices.Contains(n.names, name) || len(n.names) == mostNested {
		return false
	}
	n.names = append(slices.Clone(n.names), name) // a record that waits to be written has the old ones
	return true
}

// nameNested lets the record of the run name a nested checkpoint that has a version of a stage; of
// one that has ended, of which the version is known only now, nobody asks any more.
func (cp *Checkpoint) nameNested(ctx context.Context, nested *Checkpoint, in catalog.Stage) {
	if in != catalog.StageOf(nested.ancestors()) {
		return
	}
	if cp.attempt.nested.add(in, nested.name) {
		cp.tellRecord(ctx)
	}
}

// tellRecord writes the record of the run now.
func (cp *Checkpoint) tellRecord(ctx context.Context) {
	if r := cp.dueRecord(false); r != nil && !cp.closed && cp.mayWrite() == nil {
		cp.maintenance.tell(notes{record: r})
		cp.doNotes(context.WithoutCancel(ctx))
	}
}

// inherit takes over what earlier records, which do not stay for ever, say of the stage in which
// this run begins.
func (cp *Checkpoint) inherit(runs []storage.Record) {
	begins := container.Ancestor{Name: cp.name, Attempt: cp.point.attempt, Version: cp.point.version}
	in := catalog.StageOf(append([]container.Ancestor{begins}, cp.ancestors()...))
	for _, r := range runs {
		if r.NestedIn != string(in) || !cp.ofComputation(r) {
			continue
		}
		for _, name := range r.Nested {
			cp.attempt.nested.add(in, name)
		}
	}
	if from := cp.attempt.origin; !from.IsZero() {
		cp.attempt.nestedStored = catalog.GoneOnFrom(runs, []storage.ID{from}) == from
	}
}

// ofComputation reports whether a record of this checkpoint is of the computation that goes on,
// where a stage before the first version of the outermost one does not name it.
func (cp *Checkpoint) ofComputation(r storage.Record) bool {
	top := cp.outermost()
	return top.attempt.anew == (container.LineageID{}) || cp.point.version > 0 || cp.stageIsNamed() ||
		r.Lineage == hex.EncodeToString(top.attempt.lineage[:])
}

// nestedAway describes what the records of the parent tell of this one, where there is nothing of
// its present stage; "" if they do not. What a restart could not come to has nothing stored.
func (cp *Checkpoint) nestedAway() string {
	p := cp.parent
	if p == nil || cp.unreachable() {
		return ""
	}
	stage := string(catalog.StageOf(cp.ancestors()))
	i := slices.IndexFunc(p.attempt.before, func(r storage.Record) bool {
		return r.NestedIn == stage && slices.Contains(r.Nested, cp.name) && p.ofComputation(r)
	})
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%s had a version of the present stage, as %s in %s tells, and has none now: put back what is missing there, or mount the file system that it is on; if it was removed on purpose, delete that record too",
		cp.dir(), recordOf(p.attempt.before[i]), p.dir())
}
