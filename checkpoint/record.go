package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"time"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
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
func (u *upkeep) dueRecord(final bool) *storage.Record {
	if !u.opt.Record || !u.root() || !u.line.attempt.begun || u.light {
		return nil
	}
	u.lastRecord = time.Now()
	r := u.newRecord(u.lastRecord, final)
	return &r
}

func (u *upkeep) newRecord(now time.Time, final bool) storage.Record {
	s := u.acc.now()
	started := u.line.attempt.started.Add(u.line.attempt.ahead)
	now = started.Add(now.Sub(u.line.attempt.started)) // as measured: the clock of the day may have been set since
	repairs, recovery := u.comm.Session().Recovered()
	r := storage.Record{
		Format: 1, Checkpoint: u.name,
		Attempt: hex.EncodeToString(u.line.attempt.id[:]), Lineage: hex.EncodeToString(u.line.attempt.lineage[:]),
		Ranks: u.comm.Size(), Mode: string(u.mode()), PID: os.Getpid(),
		Started: started.UTC(), Updated: now.UTC(),
		Branch: u.line.branch.ID, RestoredVersion: u.line.attempt.origin.Version, LastVersion: u.line.attempt.last, LastWritten: u.line.attempt.written,
		VersionsWritten: s.VersionsWritten, VersionsFailed: s.VersionsFailed, VersionsSkipped: s.VersionsSkipped,
		BytesWritten: s.BytesWritten, Recoveries: repairs,
		Overheads: storage.RecordOverheads{
			Checkpoint:    max(s.CheckpointTime, u.acc.slowest.checkpoint).Seconds(),
			Restart:       max(s.RestartTime, u.acc.slowest.restart).Seconds(),
			Recovery:      max(recovery, u.acc.slowest.recovery).Seconds(),
			Recomputation: max(s.RedoTime, u.acc.slowest.redo).Seconds(),
		},
		Phases: storage.RecordPhases{
			Update: s.Phases.Update.Seconds(), Copy: s.Phases.Copy.Seconds(), Wait: s.Phases.Wait.Seconds(),
			Write: s.Phases.Write.Seconds(), Settle: s.Phases.Settle.Seconds(),
		},
		WriterCPU: s.WriterCPU.Seconds(),
	}
	u.line.attempt.memory.enter(&r)
	if anew := u.line.attempt.anew; anew == u.line.attempt.lineage && u.line.attempt.written == 0 {
		r.Anew, r.AnewStored = hex.EncodeToString(anew[:]), u.line.attempt.anewStored
	}
	r.NestedStored = u.line.attempt.nestedStored && u.line.attempt.written == 0
	r.NestedWritten = u.line.attempt.nested.written
	r.StartWritten = u.line.parent == nil && u.line.attempt.written == 0 && !r.NestedWritten && u.line.demands.GotOn()
	r.Nested, r.NestedIn = u.line.attempt.nested.names, string(u.line.attempt.nested.in)
	r.Host, _ = os.Hostname()
	if origin := u.line.attempt.origin; !origin.IsZero() {
		r.RestoredAttempt = hex.EncodeToString(origin.Attempt[:])
	}
	for _, a := range u.line.ancestors() {
		r.Ancestors = append(r.Ancestors, a.Name)
	}
	if s.Restored && s.RestoredIteration != container.NoIteration {
		r.RestoredIteration = &s.RestoredIteration
	}
	for _, id := range u.line.stored.Damaged() {
		r.Damaged = append(r.Damaged, id.String())
	}
	if u.line.redo.reached != container.NoIteration {
		reached := u.line.redo.reached
		r.Iteration = &reached
	}
	r.End, r.Finished = causeText(u.line.asked()), u.line.finished
	if final {
		ended := now.UTC()
		r.Ended = &ended
	}
	return r
}

// recordEnd leaves the record of a run that was asked to end before it has begun. It has changed nothing, and hands on what the
// last one has told of all that is stored: restarts ask the last record.
func (u *upkeep) recordEnd(ctx context.Context) {
	at := &u.line.attempt
	at.started = time.Now()
	at.ahead = aheadOf(at.before, at.started)
	_, _ = rand.Read(at.id[:]) // never fails
	if n := len(at.before); n > 0 {
		at.lineage, _ = storage.ParseLineage(at.before[n-1].Lineage)
	}
	if err := filestore.MakeDir(u.home); err != nil {
		u.log.Debug("no directory for the record of the run", "error", err)
	}
	r := u.newRecord(time.Now(), true)
	if n := len(at.before); n > 0 {
		last := at.before[n-1]
		r.Branch, r.Damaged, r.LastVersion = last.Branch, last.Damaged, last.LastVersion
		r.Anew, r.AnewStored, r.Nested, r.NestedIn = last.Anew, last.AnewStored, last.Nested, last.NestedIn
	}
	u.writeRecord(ctx, r)
	at.id, at.lineage = container.AttemptID{}, container.LineageID{}
}
