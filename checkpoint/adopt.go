package checkpoint

import (
	"fmt"
	"slices"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
)

// Version is the version that the values were read from, or captured in, last: what Adopt
// takes. It is the zero ID before the first one, and stays known after Close.
func (cp *Checkpoint) Version() storage.ID {
	if cp.line == nil { // New has not made it: the calls that return errors say so
		return storage.ID{}
	}
	return cp.line.point.ID
}

// Adopt says that the values of this rank are those of a version: a survivor of a failure
// has kept them, or a program has got them back in another way. If RestartIfNeeded, which
// all ranks call after it, goes on from that version, it does not read them on this rank; in
// everything else it is as if it had read them: the iteration, the lineage, what is nested.
// Where it goes on from another version, because a newer one is there or this one is damaged for
// a rank that does read it, or if partitioned values have other parts than when it was
// written, they are read as usual. A call that has failed when it had begun to read takes
// it back: the next one reads.
//
// Where nothing is gone on from at all, because there is no version any more, or none is read
// (CRAFT_READ_CP_ON_RESTART=0), RestartIfNeeded is ErrNoUsableVersion on all ranks, with one rank
// too: the others begin with what they have at the start, and the values of a version are no
// beginning. So is a first write without RestartIfNeeded. A value of another type or shape than
// the stored one is an error that matches cptypes.ErrMismatch.
//
// Each rank says so for itself, after Commit and before RestartIfNeeded; the zero ID takes it
// back. The version is that of Version of the checkpoint that had the values; whether
// they are unchanged since then only the program knows.
func (cp *Checkpoint) Adopt(version storage.ID) error {
	return cp.call("Adopt", func() error {
		if cp.line.attempt.begun {
			return cp.outOfOrder("Adopt after RestartIfNeeded or a write")
		}
		cp.reg.adopted = version
		return nil
	})
}

// adoptedNothing returns an error if no version is gone on from although this rank has adopted
// one: it would begin with the values of that, beside ranks that begin anew.
func (st *starting) adoptedNothing(read bool) error {
	if st.reg.adopted.IsZero() {
		return nil
	}
	why := "there is none that could be gone on from"
	if !read {
		why = "nothing stored is gone on from, without RestartIfNeeded or with CRAFT_READ_CP_ON_RESTART=0"
	}
	return fmt.Errorf("%w: rank %d has adopted version %v, but %s; to begin anew take that back on all ranks, Adopt(storage.ID{}), and set the values as at the start",
		ErrNoUsableVersion, st.comm.Rank(), st.reg.adopted, why)
}

// matchesAdopted checks that what this rank has could be what is stored.
func (r *restoration) matchesAdopted() error {
	for _, e := range r.reg.entries {
		stored, mine := r.mem.stored[e.key].Desc, cptypes.DescOf(e.value)
		if _, is := r.mem.stored[e.key]; is && (mine.Elem != stored.Elem || !slices.Equal(mine.Shape, stored.Shape)) {
			return &KeyError{Key: e.key, Err: &cptypes.MismatchError{Stored: stored, Have: mine, Reason: "the rank has adopted the version, so that it must have what is stored"}}
		}
	}
	return nil
}

// adopts reports whether this rank has the values of the version, and reads nothing of it.
func (r *restoration) adopts() bool { return r.reg.adopted == r.from.ID && !r.redistribute }
