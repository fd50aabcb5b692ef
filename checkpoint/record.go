package checkpoint

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"time"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// recordEvery is how often the record of a run is written anew while versions
// are.
const recordEvery = 10 * time.Second

// slowest are the largest overheads of any rank, as of the last version.
type slowest struct{ checkpoint, restart time.Duration }

// Record is what the file RUN-<start>-<attempt>.json beside the versions says of
// one run. It is written when the run begins, every 10 s or so while versions
// are written, and at Close. Times are in seconds.
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

	RestoredVersion   uint64 `json:"restored_version"`   // 0: none
	RestoredIteration *int64 `json:"restored_iteration"` // null: none
	LastVersion       uint64 `json:"last_version"`
	VersionsWritten   int    `json:"versions_written"`
	VersionsFailed    int    `json:"versions_failed"`
	VersionsSkipped   int    `json:"versions_skipped"`
	BytesWritten      int64  `json:"bytes_written"` // by rank 0

	// Overheads are the largest of any rank, as of the last version; rec and
	// redo belong to recoveries inside a run.
	Overheads RecordOverheads `json:"overheads"`
	Phases    RecordPhases    `json:"phases"` // of rank 0
	WriterCPU float64         `json:"writer_cpu"`
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

// record writes the record of the run from rank 0, if there is one to write. A
// failure is no reason to stop.
func (cp *Checkpoint) record(final bool) {
	recorder, ok := cp.store.Driver.(storage.Recorder)
	if !ok || !cp.opt.Record || !cp.root() || !cp.attempt.begun {
		return
	}
	now := time.Now()
	if !final && now.Sub(cp.lastRecord) < recordEvery {
		return
	}
	cp.lastRecord = now
	data, err := json.MarshalIndent(cp.newRecord(now, final), "", "  ")
	if err == nil {
		err = recorder.Record(context.Background(), cp.attempt.started, cp.attempt.id, append(data, '\n'))
	}
	if err != nil {
		cp.log.Debug("record of the run not written", "error", err)
	}
}

func (cp *Checkpoint) newRecord(now time.Time, final bool) Record {
	s := cp.stats
	r := Record{
		Format: 1, Checkpoint: cp.name,
		Attempt: hex.EncodeToString(cp.attempt.id[:]), Lineage: hex.EncodeToString(cp.attempt.lineage[:]),
		Ranks: cp.comm.Size(), Mode: cp.opt.mode().String(), PID: os.Getpid(),
		Started: cp.attempt.started.UTC(), Updated: now.UTC(),
		RestoredVersion: s.RestoredVersion, LastVersion: cp.attempt.last,
		VersionsWritten: s.VersionsWritten, VersionsFailed: s.VersionsFailed, VersionsSkipped: s.VersionsSkipped,
		BytesWritten: s.BytesWritten,
		Overheads: RecordOverheads{
			Checkpoint: max(s.CheckpointTime, cp.slowest.checkpoint).Seconds(),
			Restart:    max(s.RestartTime, cp.slowest.restart).Seconds(),
		},
		Phases: RecordPhases{
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
