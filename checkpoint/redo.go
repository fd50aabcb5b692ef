package checkpoint

import (
	"context"
	"encoding/hex"
	"sync"
	"time"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// redo measures what this run does again because an earlier one was lost (OH_redo,
// paper section 5).
type redo struct {
	reached int64         // the last iteration that UpdateAndWrite was called with, or container.NoIteration
	before  int64         // the last one that earlier runs had done, or container.NoIteration
	began   time.Time     // when this run went on
	waited  time.Duration // in CheckpointTime by then
}

// goesOn is called when a version was restored.
func (cp *Checkpoint) goesOn() {
	cp.redo.began, cp.redo.waited = time.Now(), cp.stats.CheckpointTime
}

// done is called when the program has done an iteration.
func (cp *Checkpoint) done(iter int64) {
	cp.redo.reached = iter
	if iter <= cp.redo.before && !cp.redo.began.IsZero() {
		cp.stats.RedoTime = time.Since(cp.redo.began) - (cp.stats.CheckpointTime - cp.redo.waited)
	}
}

// doneBefore finds out how far earlier runs have come from a version, as their records
// tell: those of its lineage, or for a nested checkpoint, whose iterations begin anew
// in each stage, the run that wrote it last of all.
func (cp *Checkpoint) doneBefore(runs []storage.Record, restored *container.Header) int64 {
	furthest := int64(container.NoIteration)
	if restored == nil || !cp.opt.Record {
		return furthest
	}
	for _, r := range runs {
		same := r.Lineage == hex.EncodeToString(restored.Lineage[:])
		if cp.parent != nil {
			same = r.Attempt == hex.EncodeToString(restored.Attempt[:]) && r.LastVersion == restored.Version
		}
		if same && r.Iteration != nil {
			furthest = max(furthest, *r.Iteration)
		}
	}
	return furthest
}

// Between versions the record is written at most this often, and in at most a
// hundredth of the time.
const (
	recordEvery = 20 * time.Millisecond
	recordShare = 100
)

// recordBetween writes the record between versions, so that it is known of a run that
// is killed how far it has come.
func (cp *Checkpoint) recordBetween(ctx context.Context) {
	if !cp.root() || !cp.opt.Record || !cp.attempt.begun {
		return
	}
	if time.Since(cp.lastRecord) < max(recordEvery, recordShare*time.Duration(cp.recordCost.Load())) {
		return
	}
	defer cp.stats.time(&cp.stats.CheckpointTime)()
	began := time.Now()
	cp.maintenance.tell(notes{record: cp.dueRecord(false)})
	if cp.writer != nil {
		cp.startMaintenance()
		return
	}
	cp.doUrgent(context.WithoutCancel(ctx))
	cp.recordCost.Store(int64(time.Since(began))) // with all that goes with it
}

// recordOrder keeps an older record, which the background has yet to write, from taking the
// place of a newer one.
type recordOrder struct {
	mu   sync.Mutex
	last time.Time // Updated of the last one that was written
}

// writeRecord writes a record. A failure is no reason to stop.
func (cp *Checkpoint) writeRecord(ctx context.Context, r storage.Record) (written bool) {
	cp.records.mu.Lock()
	defer cp.records.mu.Unlock()
	if r.Updated.Before(cp.records.last) {
		return false
	}
	began := time.Now()
	err := cp.home.Record(ctx, r)
	if err != nil {
		cp.log.Debug("record of the run not written", "error", err)
	} else {
		cp.records.last = r.Updated
	}
	cp.recordCost.Store(int64(time.Since(began)))
	return err == nil
}
