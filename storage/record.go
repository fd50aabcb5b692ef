package storage

import (
	"encoding/hex"
	"slices"
	"time"
)

// Record is what the file RUN-<start>-<attempt>.json beside the versions says of
// one run. It is written when the run begins, with each version, now and then in
// between, and at Close. Times are in seconds.
type Record struct {
	Format     int        `json:"format"` // 1
	Checkpoint string     `json:"checkpoint"`
	Attempt    string     `json:"attempt"`
	Lineage    string     `json:"lineage"`
	Ancestors  []string   `json:"ancestors,omitempty"` // names, innermost first
	Ranks      int        `json:"ranks"`
	Mode       string     `json:"mode"` // off, copy, zero-copy
	Host       string     `json:"host"`
	PID        int        `json:"pid"`
	Started    time.Time  `json:"started"`
	Updated    time.Time  `json:"updated"`
	Ended      *time.Time `json:"ended"` // null: it goes on, or it was killed

	RestoredVersion   uint64 `json:"restored_version"`           // 0: none
	RestoredIteration *int64 `json:"restored_iteration"`         // null: none
	RestoredAttempt   string `json:"restored_attempt,omitempty"` // that wrote it
	// Branch is the way back that the branch of the run began with; "": none.
	Branch BranchID `json:"branch,omitzero"`
	// Damaged are the versions (ID.String) that this run, or one before it, has set aside
	// because their bytes are wrong, while they are stored.
	Damaged     []string `json:"damaged,omitempty"`
	LastVersion uint64   `json:"last_version"`
	// LastWritten is the number of the last version that was complete; 0: none was.
	LastWritten uint64 `json:"last_written"`
	// MemoryVersion is the last version that was complete in memory alone: it ends with the job.
	// 0: there was none, or LastWritten is newer. MemoryIteration is its iteration; null: none.
	MemoryVersion   uint64 `json:"memory_version,omitempty"`
	MemoryIteration *int64 `json:"memory_iteration,omitempty"`
	// RestoredMemory: RestoredVersion was in memory alone.
	RestoredMemory bool `json:"restored_memory,omitempty"`
	// Anew is the lineage that was begun without reading what is stored, by this run or
	// one before it, while no version of it is complete; "": none was.
	Anew string `json:"anew,omitempty"`
	// AnewStored: of a checkpoint nested in this one a version of that lineage is complete.
	AnewStored bool `json:"anew_stored,omitempty"`
	// NestedStored: the same of the stage behind the version that the run has restored, while it
	// has written none itself.
	NestedStored bool `json:"nested_stored,omitempty"`
	// NestedWritten: this run has stored a version of a checkpoint nested in this one.
	NestedWritten bool `json:"nested_written,omitempty"`
	// StartWritten: the start of the job that this run is of has stored a version of another checkpoint, or before a repair.
	StartWritten bool `json:"start_written,omitempty"`
	// Nested are the names of checkpoints right in this one of which a version of the stage
	// NestedIn is complete: the versions (number-attempt/) of this one and of those around it, as
	// far as there are any, behind which they are.
	Nested   []string `json:"nested,omitempty"`
	NestedIn string   `json:"nested_in,omitempty"`
	// Iteration is the last one that the run is known to have done; null: none.
	Iteration *int64 `json:"iteration"`
	// End is why the run was asked to end: end, halt or interrupt; "": it was not, or was killed before it
	// could say so.
	End string `json:"end,omitempty"`
	// Finished: its last version is that of Finish.
	Finished        bool  `json:"finished,omitempty"`
	VersionsWritten int   `json:"versions_written"`
	VersionsFailed  int   `json:"versions_failed"`
	VersionsSkipped int   `json:"versions_skipped"`
	BytesWritten    int64 `json:"bytes_written"` // by rank 0
	// Recoveries is the number of repairs of the job before this run of the
	// checkpoint: each is followed by a run, with a record, of its own.
	Recoveries int `json:"recoveries"`

	// Overheads are the largest of any rank, as of the last version; rec is that
	// of all repairs of the job so far.
	Overheads RecordOverheads `json:"overheads"`
	Phases    RecordPhases    `json:"phases"` // of rank 0
	WriterCPU float64         `json:"writer_cpu"`
}

// BegunAnew returns, of the records of a checkpoint that is nested in no other, the last one
// of a run in the first stage of a computation that was begun anew: nothing is stored of it but
// what is nested in this checkpoint. Runs since then have begun anew and stored nothing. Versions of
// other lineages up to LastVersion are of abandoned computations. nil: there is none, and
// the newest version decides which computation goes on.
func BegunAnew(runs []Record) *Record {
	for i := range slices.Backward(runs) {
		if r := &runs[i]; r.Anew == "" || r.AnewStored {
			if _, ok := ParseLineage(r.Anew); ok && r.LastWritten == 0 {
				return r
			}
			return nil
		}
	}
	return nil
}

// StoredInFirstStage reports, of the records of a checkpoint that has no version, whether one of a checkpoint nested in it is stored:
// the next run goes on from that.
func StoredInFirstStage(runs []Record) bool {
	for _, r := range slices.Backward(runs) {
		switch {
		case r.NestedWritten || r.AnewStored || len(r.Nested) > 0:
			return r.LastWritten == 0 // else it is of a later stage
		case r.Anew != "" || r.LastWritten > 0: // what is older was abandoned, or is of before a version that is gone
			return false
		}
	}
	return false
}

// Fruitless counts the last starts of a job that were asked to end and had stored nothing new, before this one, which goes on
// from origin. Each repair has a record of its own behind it: repaired says that this run is behind one, and so of the same
// start as the last of them.
func Fruitless(runs []Record, origin ID, repaired bool) (n int) {
	asked, own := 0, repaired                                                            // of the start that the record is of: 1 if it was asked to end; whether it is this one
	restored := map[string]bool{hex.EncodeToString(origin.Attempt[:]): !origin.IsZero()} // attempts whose versions later starts went on from
	for _, r := range slices.Backward(runs) {
		if r.LastWritten > 0 || r.NestedWritten || r.StartWritten || restored[r.Attempt] { // a version may be complete before its record is
			return n // not with its start, which has stored something before a repair
		}
		restored[r.RestoredAttempt] = r.RestoredAttempt != ""
		if r.End != "" && !own {
			asked = 1
		}
		if r.Recoveries == 0 { // what is before is another start
			n, asked, own = n+asked, 0, false
		}
	}
	return n + asked
}

// RecordOverheads are OH_cp, OH_res, OH_rec and OH_redo (paper section 5).
type RecordOverheads struct {
	Checkpoint    float64 `json:"cp"`
	Restart       float64 `json:"res"`
	Recovery      float64 `json:"rec"`
	Recomputation float64 `json:"redo"`
}

// RecordPhases are the Phases of Stats.
type RecordPhases struct {
	Update float64 `json:"update"`
	Copy   float64 `json:"copy"`
	Wait   float64 `json:"wait"`
	Write  float64 `json:"write"`
	Settle float64 `json:"settle"`
}
