package checkpoint

import "github.com/craft-go/craft/storage"

// Version is the version that the values were read from, or captured in, last: what Adopt
// takes. It is the zero ID before the first one, and stays known after Close.
func (cp *Checkpoint) Version() storage.ID {
	if cp.line == nil { // New has not made it: the calls that return errors say so
		return storage.ID{}
	}
	return storage.ID{Version: cp.line.point.version, Attempt: cp.line.point.attempt}
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

// adopts reports whether this rank has the values of the version, and reads nothing of it.
func (r *restoration) adopts() bool { return r.reg.adopted == r.from.ID && !r.redistribute }
