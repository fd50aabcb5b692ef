package checkpoint

import (
	"encoding/hex"
	"time"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// What is in memory alone ends with the job, as it is meant to: no file tells of such a version
// that a restart would miss. The record of the run, which is written anyway, says how far the
// program had come with it.

// volatileRecordEvery is how often the record is written while all versions are in memory alone.
const volatileRecordEvery = 10 * time.Second

// inMemory is the last version of an attempt that was complete in memory alone.
type inMemory struct {
	Version   uint64 // 0: there was none
	Iteration int64  // or NoIteration
	restored  bool   // the attempt began with it
}

// enter adds what the record says of it.
func (m inMemory) enter(r *storage.Record) {
	r.RestoredMemory = m.restored
	if m.Version <= r.LastWritten {
		return
	}
	r.MemoryVersion = m.Version
	if m.Iteration != container.NoIteration {
		r.MemoryIteration = &m.Iteration
	}
}

// tellEnded says on rank 0 what has ended with the last job, in one line: as far as its records
// know, which do not if all its processes were killed at once. restored is nil if nothing was.
func (st *starting) tellEnded(found survey, restored *container.Header) {
	at := st.comm.Session().Place()
	deployed := at.Epoch == 0 || at.Replacement && at.Change == nil // for the first time, or again
	if !st.root() || !deployed || st.line.parent != nil {
		return
	}
	var last *storage.Record
	for i, r := range found.told.Runs {
		same := restored == nil || r.Lineage == hex.EncodeToString(restored.Lineage[:])
		if same && r.MemoryVersion > 0 && (last == nil || r.MemoryVersion > last.MemoryVersion) {
			last = &found.told.Runs[i]
		}
	}
	if last == nil || restored != nil && last.MemoryVersion <= restored.Version {
		return
	}
	attrs := []any{"version", last.MemoryVersion}
	if to := last.MemoryIteration; to != nil {
		from := int64(-1)
		if restored != nil {
			from = restored.Iteration
		}
		attrs = append(attrs, "iteration", *to)
		if restored == nil || from != container.NoIteration {
			attrs = append(attrs, "iterations_again", *to-from)
		}
	}
	st.log.Info("what was in memory alone has ended with the last job", attrs...)
}
