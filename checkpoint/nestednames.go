package checkpoint

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// nestedNames are the checkpoints right in this one that have a version of a stage. If the
// directory of one is away at the next start, nothing but the record of this one tells of it.
type nestedNames struct {
	in    chain
	names []string
}

// mostNested bounds the record of a program that has a nested checkpoint for each of many parts.
const mostNested = 1000

// add reports whether that was not known.
func (n *nestedNames) add(in chain, name string) bool {
	if n.in != in {
		*n = nestedNames{in: in}
	}
	if slices.Contains(n.names, name) || len(n.names) == mostNested {
		return false
	}
	n.names = append(slices.Clone(n.names), name) // a record that waits to be written has the old ones
	return true
}

// nameNested lets the record of the run name a nested checkpoint that has a version.
func (cp *Checkpoint) nameNested(ctx context.Context, name string, in chain) {
	if cp.attempt.nested.add(in, name) && !cp.closed && cp.mayWrite() == nil {
		cp.maintenance.tell(notes{record: cp.dueRecord(false)})
		cp.doNotes(context.WithoutCancel(ctx))
	}
}

// nestedAway describes what the records of the parent tell of this one, where there is nothing of
// its present stage; "" if they do not.
func (cp *Checkpoint) nestedAway() string {
	p := cp.parent
	if p == nil {
		return ""
	}
	stage, anew := string(chainOf(cp.ancestors())), ""
	if l := cp.outermost().attempt.anew; l != (container.LineageID{}) && !cp.stageIsNamed() {
		anew = hex.EncodeToString(l[:])
	}
	tells := func(r storage.Record) bool {
		return r.NestedIn == stage && slices.Contains(r.Nested, cp.name) && (anew == "" || anew == r.Lineage)
	}
	i := slices.IndexFunc(p.attempt.before, tells)
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%s had a version of the present stage, as %s in %s tells, and has none now: put back what is missing there, or mount the file system that it is on; if it was removed on purpose, delete that record too",
		cp.dir(), recordOf(p.attempt.before[i]), p.dir())
}
