package main

import (
	"context"
	"math"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/examples/internal/jobs"
)

// fingerprint is what must not change between the runs of one job.
type fingerprint struct {
	Points  int64  `json:"points"`
	Dim     int    `json:"dim"`
	Centres int    `json:"centres"`
	Seed    uint64 `json:"seed"`
	Input   int64  `json:"input"` // of a file
}

// never is a frequency with which no version is due.
const never = math.MaxInt

// checkpoint keeps the centres over the end of a job that is asked to end, and for nothing else: failures
// are survived in memory. The points are made or read again.
func (w *worker) checkpoint(c *comm.Comm) (*checkpoint.Checkpoint, error) {
	problem := fingerprint{w.input.total, w.input.dim, w.centres, w.generated.Seed, w.input.fingerprint}
	cp, err := checkpoint.New("kmeans", c, append(w.CheckpointOptions(), checkpoint.WithFingerprint(problem), checkpoint.WithLogger(w.log))...)
	if err != nil {
		return nil, err
	}
	w.saved = nil
	cp.Add("centres", cptypes.Replicated(&w.saved))
	return cp, cp.Commit() // also returns the first error of Add
}

// takeUp goes on where an earlier run was asked to end, unless this one has come farther. It is collective.
func (w *worker) takeUp(ctx context.Context, cp *checkpoint.Checkpoint) error {
	next := 0
	if err := cp.RestartIfNeeded(ctx, &next); err != nil {
		return jobs.Explain(err)
	}
	if done := next - 1; cp.Stats().Restored && done > w.state.next { // see save
		w.state.next, w.state.centres = done, slices.Clone(w.saved)
	}
	return nil
}

// save is called when an iteration has ended. It stores the centres if the job is asked to end, or for a version, with the
// number of iterations that are done: 0 would be due.
func (w *worker) save(ctx context.Context, cp *checkpoint.Checkpoint) error {
	w.saved = w.state.centres
	return jobs.Tolerate(ctx, w.log, w.rank, cp.UpdateAndWrite(ctx, w.state.next, never))
}

// finished marks the run as done, if there is anything of it in the checkpoint: what comes later computes nothing.
func (w *worker) finished(ctx context.Context, cp *checkpoint.Checkpoint) error {
	if s := cp.Stats(); !s.Restored && s.VersionsWritten == 0 {
		return nil
	}
	w.saved = w.state.centres
	return jobs.Tolerate(ctx, w.log, w.rank, cp.Finish(ctx, w.state.next))
}
