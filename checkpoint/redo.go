package checkpoint

import (
	"context"
	"encoding/hex"
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
func (a *accounts) goesOn() {
	a.line.redo.began, a.line.redo.waited = time.Now(), a.stats.CheckpointTime
}

// done is called when the program has done an iteration.
func (a *accounts) done(iter int64) {
	a.line.redo.reached = iter
	if iter <= a.line.redo.before && !a.line.redo.began.IsZero() {
		a.stats.RedoTime = time.Since(a.line.redo.began) - (a.stats.CheckpointTime - a.line.redo.waited)
	}
}

// doneBefore finds out how far earlier runs have come from a version, as their records
// tell: those of its lineage, or for a nested checkpoint, whose iterations begin anew
// in each stage, the run that wrote it last of all.
func (a *accounts) doneBefore(runs []storage.Record, restored *container.Header) int64 {
	furthest := int64(container.NoIteration)
	if restored == nil || !a.opt.Record {
		return furthest
	}
	for _, r := range runs {
		same := r.Lineage == hex.EncodeToString(restored.Lineage[:])
		if a.line.parent != nil {
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
// is killed how far it has come. now is that of the call.
func (u *upkeep) recordBetween(ctx context.Context, now time.Time) {
	if !u.root() || !u.opt.Record || !u.line.attempt.begun || u.light {
		return
	}
	if now.Sub(u.lastRecord) < max(recordEvery, recordShare*time.Duration(u.recordCost.Load())) {
		return
	}
	defer u.acc.stats.time(&u.acc.stats.CheckpointTime)()
	began := time.Now()
	u.maintenance.tell(metadata{record: u.dueRecord(false)})
	if u.writer != nil {
		u.startMaintenance()
		return
	}
	if u.mayWrite() == nil {
		u.writeMetadata(context.WithoutCancel(ctx))
	}
	u.recordCost.Store(int64(time.Since(began))) // with all that goes with it
}

// writeRecord writes a record, unless a newer one was written.
func (u *upkeep) writeRecord(ctx context.Context, r storage.Record) (written bool) {
	u.recordMu.Lock()
	defer u.recordMu.Unlock()
	if r.Updated.Before(u.recorded.Updated) { // which the background was yet to write
		return false
	}
	defer func(began time.Time) { u.recordCost.Store(int64(time.Since(began))) }(time.Now())
	return putRecord(ctx, u, r)
}

// putRecord writes a record with recordMu held. A failure is no reason to stop.
func putRecord(ctx context.Context, u *upkeep, r storage.Record) (written bool) {
	if err := u.home.Record(ctx, r); err != nil {
		u.log.Debug("record of the run not written", "error", err)
		return false
	}
	u.recorded = r
	return true
}
