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
	// written: this run has stored a version of a checkpoint in this one, at whatever depth.
	written bool
}

// mostNested bounds the record of a program that has a nested checkpoint for each of many parts.
const mostNested = 1000

// add reports whether that was not known.
func (n *nestedNames) add(in catalog.Stage, name string) bool {
	if n.in != in {
		*n = nestedNames{in: in, written: n.written}
	}
	if slices.Contains(n.names, name) || len(n.names) == mostNested {
		return false
	}
	n.names = append(slices.Clone(n.names), name) // a record that waits to be written has the old ones
	return true
}

// tellRecord writes the record of the run now.
func (u *upkeep) tellRecord(ctx context.Context) {
	if r := u.dueRecord(false); r != nil && !u.closed && u.mayWrite() == nil {
		u.maintenance.tell(metadata{record: r})
		u.writeMetadata(context.WithoutCancel(ctx))
	}
}

// nestedAway describes what the records of the parent tell of this one, where there is nothing of
// its present stage; "" if they do not. What a restart could not come to has nothing stored.
func (l *looker) nestedAway() string {
	p := l.line.parent
	if p == nil || l.line.unreachable() {
		return ""
	}
	stage := string(catalog.StageOf(l.line.ancestors()))
	i := slices.IndexFunc(p.attempt.before, func(r storage.Record) bool {
		return r.NestedIn == stage && slices.Contains(r.Nested, l.name) && p.ofComputation(r) && p.ofBranch(r)
	})
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%s had a version of the present stage, as %s in %s tells, and has none now: put back what is missing there, or mount the file system that it is on; if it was removed on purpose, delete that record too",
		l.dir(), recordOf(p.attempt.before[i]), p.dir())
}

// inherit takes over what earlier records, which do not stay for ever, say of the stage in which
// this run begins.
func (l *lineage) inherit(runs []storage.Record) {
	in := catalog.StageOf(l.points())
	for _, r := range runs {
		if r.NestedIn != string(in) || !l.ofComputation(r) || !l.ofBranch(r) {
			continue
		}
		for _, name := range r.Nested {
			l.attempt.nested.add(in, name)
		}
	}
	if from := l.attempt.origin; !from.IsZero() {
		l.attempt.nestedStored = catalog.GoneOnFrom(runs, []storage.ID{from}) == from
	}
}

// ofComputation reports whether a record of this checkpoint is of the computation that goes on,
// where a stage before the first version of the outermost one does not name it.
func (l *lineage) ofComputation(r storage.Record) bool {
	top := l.outermost()
	return top.attempt.anew == (container.LineageID{}) || l.point.Version > 0 || l.stageIsNamed() ||
		r.Lineage == hex.EncodeToString(top.attempt.lineage[:])
}
