package checkpoint

import (
	"encoding/hex"
	"os"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// slowest are the largest overheads of any rank, as of the last version.
type slowest struct{ checkpoint, restart, recovery, redo time.Duration }

// aheadOf is what a clock has to be put forward so that a run which starts now is the
// last one: the order of records is that of times, and hosts need not agree on these.
func aheadOf(runs []storage.Record, now time.Time) time.Duration {
	if len(runs) == 0 {
		return 0
	}
	return max(0, runs[len(runs)-1].Started.Add(time.Millisecond).Sub(now))
}

// dueRecord returns the record of the run, if this rank writes one.
func (cp *Checkpoint) dueRecord(final bool) *storage.Record {
	if !cp.opt.Record || !cp.root() || !cp.attempt.begun {
		return nil
	}
	cp.lastRecord = time.Now()
	r := cp.newRecord(cp.lastRecord, final)
	return &r
}

func (cp *Checkpoint) newRecord(now time.Time, final bool) storage.Record {
	s := cp.Stats()
	now = now.Add(cp.attempt.ahead)
	repairs, recovery := comm.Recovered(cp.comm)
	r := storage.Record{
		Format: 1, Checkpoint: cp.name,
		Attempt: hex.EncodeToString(cp.attempt.id[:]), Lineage: hex.EncodeToString(cp.attempt.lineage[:]),
		Ranks: cp.comm.Size(), Mode: cp.mode().String(), PID: os.Getpid(),
		Started: cp.attempt.started.Add(cp.attempt.ahead).UTC(), Updated: now.UTC(),
		RestoredVersion: cp.attempt.origin.Version, LastVersion: cp.attempt.last, LastWritten: cp.attempt.written,
		VersionsWritten: s.VersionsWritten, VersionsFailed: s.VersionsFailed, VersionsSkipped: s.VersionsSkipped,
		BytesWritten: s.BytesWritten, Recoveries: repairs,
		Overheads: storage.RecordOverheads{
			Checkpoint: max(s.CheckpointTime, cp.slowest.checkpoint).Seconds(),
			Restart:    max(s.RestartTime, cp.slowest.restart).Seconds(),
			Recovery:   max(recovery, cp.slowest.recovery).Seconds(),

			Recomputation: max(s.RedoTime, cp.slowest.redo).Seconds(),
		},
		Phases: storage.RecordPhases{
			Update: s.Phases.Update.Seconds(), Copy: s.Phases.Copy.Seconds(), Wait: s.Phases.Wait.Seconds(),
			Write: s.Phases.Write.Seconds(), Settle: s.Phases.Settle.Seconds(),
		},
		WriterCPU: s.WriterCPU.Seconds(),
	}
	if anew := cp.attempt.anew; anew == cp.attempt.lineage && cp.attempt.written == 0 {
		r.Anew, r.AnewStored = hex.EncodeToString(anew[:]), cp.attempt.anewStored
	}
	r.NestedStored = cp.attempt.nestedStored && cp.attempt.written == 0
	r.Nested, r.NestedIn = cp.attempt.nested.names, string(cp.attempt.nested.in)
	r.Host, _ = os.Hostname()
	if origin := cp.attempt.origin; !origin.IsZero() {
		r.RestoredAttempt = hex.EncodeToString(origin.Attempt[:])
	}
	for _, a := range cp.ancestors() {
		r.Ancestors = append(r.Ancestors, a.Name)
	}
	if s.Restored && s.RestoredIteration != container.NoIteration {
		r.RestoredIteration = &s.RestoredIteration
	}
	for _, id := range cp.stored.Damaged() {
		r.Damaged = append(r.Damaged, id.String())
	}
	if cp.redo.reached != container.NoIteration {
		reached := cp.redo.reached
		r.Iteration = &reached
	}
	if final {
		ended := now.UTC()
		r.Ended = &ended
	}
	return r
}
