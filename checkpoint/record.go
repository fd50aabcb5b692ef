package checkpoint

import (
	"context"
	"encoding/hex"
	"os"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// recordEvery is how often the record of a run is written anew while versions
// are.
const recordEvery = 10 * time.Second

// slowest are the largest overheads of any rank, as of the last version.
type slowest struct{ checkpoint, restart, recovery time.Duration }

// dueRecord returns the record of the run if this rank is to write it now.
func (cp *Checkpoint) dueRecord(final bool) *storage.Record {
	if !cp.opt.Record || !cp.root() || !cp.attempt.begun {
		return nil
	}
	now := time.Now()
	if !final && now.Sub(cp.lastRecord) < recordEvery {
		return nil
	}
	cp.lastRecord = now
	r := cp.newRecord(now, final)
	return &r
}

// writeRecord writes a record. A failure is no reason to stop.
func (cp *Checkpoint) writeRecord(ctx context.Context, r storage.Record) {
	recorder, ok := cp.store.Driver.(storage.Recorder)
	if !ok {
		return
	}
	if err := recorder.Record(ctx, r); err != nil {
		cp.log.Debug("record of the run not written", "error", err)
	}
}

func (cp *Checkpoint) newRecord(now time.Time, final bool) storage.Record {
	s := cp.stats
	repairs, recovery := comm.Recovered(cp.comm)
	r := storage.Record{
		Format: 1, Checkpoint: cp.name,
		Attempt: hex.EncodeToString(cp.attempt.id[:]), Lineage: hex.EncodeToString(cp.attempt.lineage[:]),
		Ranks: cp.comm.Size(), Mode: cp.opt.mode().String(), PID: os.Getpid(),
		Started: cp.attempt.started.UTC(), Updated: now.UTC(),
		RestoredVersion: s.RestoredVersion, LastVersion: cp.attempt.last,
		VersionsWritten: s.VersionsWritten, VersionsFailed: s.VersionsFailed, VersionsSkipped: s.VersionsSkipped,
		BytesWritten: s.BytesWritten, Recoveries: repairs,
		Overheads: storage.RecordOverheads{
			Checkpoint: max(s.CheckpointTime, cp.slowest.checkpoint).Seconds(),
			Restart:    max(s.RestartTime, cp.slowest.restart).Seconds(),
			Recovery:   max(recovery, cp.slowest.recovery).Seconds(),
		},
		Phases: storage.RecordPhases{
			Update: s.Phases.Update.Seconds(), Copy: s.Phases.Copy.Seconds(), Wait: s.Phases.Wait.Seconds(),
			Write: s.Phases.Write.Seconds(), Settle: s.Phases.Settle.Seconds(),
		},
		WriterCPU: s.WriterCPU.Seconds(),
	}
	r.Host, _ = os.Hostname()
	for _, a := range cp.ancestors() {
		r.Ancestors = append(r.Ancestors, a.Name)
	}
	if s.Restored && s.RestoredIteration != container.NoIteration {
		r.RestoredIteration = &s.RestoredIteration
	}
	if final {
		ended := now.UTC()
		r.Ended = &ended
	}
	return r
}
