package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/craft-go/craft/examples/internal/jobs"
)

// marker is the file that keeps that -die-at has happened.
func (c config) marker() string {
	return filepath.Join(c.CPPath, fmt.Sprintf("nested-died-at-%d-%d", c.dieAt.outer, c.dieAt.inner))
}

// newDeath is what -die-at asks for. Only original rank 0 dies, and the process
// with it.
func (j *job) newDeath() (*jobs.Death, error) {
	if j.dieAt == nowhere || j.zone.Original() != 0 {
		return &jobs.Death{}, nil
	}
	return jobs.NewDeath(j.marker(), j.Fresh && j.zone.Epoch() == 0)
}

// beginAttempt is called when the sweep goes on with point outer.
func (j *job) beginAttempt(outer int, death *jobs.Death) {
	if death.Happened() {
		j.history.Reached(j.dieAt.number())
	}
	j.history.Begin()
	j.restartedFrom.Begin(outer, j.sweep.Stats().Restored)
}

// began is called when the computation of a point begins or goes on. Once in an
// attempt, it says from where.
func (j *job) began(outer, iter int) {
	if j.reported {
		return
	}
	j.reported = true
	innerRestored := j.inner.Stats().Restored
	j.innerRestartedFrom.Begin(iter, innerRestored)
	if j.rank != 0 {
		return
	}
	if j.zone.Epoch() > 0 {
		fmt.Fprintf(j.stderr, "recovered: the next is iteration %d of point %d\n", iter, outer)
		return
	}
	if j.restartedFrom >= 0 {
		fmt.Fprintf(j.stderr, "restarted from the checkpoint in %s: the next point is %d\n", j.CPPath, outer)
	}
	if innerRestored {
		fmt.Fprintf(j.stderr, "point %d goes on from its own checkpoint: the next iteration is %d\n", outer, iter)
	}
}

// completed is called by all ranks when an iteration has ended.
func (j *job) completed(ctx context.Context, at place, death *jobs.Death) error {
	j.history.Done(at.number())
	j.zone.Step(at.outer*j.iterations + at.inner)
	if at != j.dieAt {
		return nil
	}
	// So that what -die-at shows does not depend on the speed of the disk.
	if err := j.wait(ctx); err != nil {
		return err
	}
	return death.Die()
}
