package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/dieonce"
)

// history is what one rank knows of the job: of this run, over all attempts of
// the zone, and of earlier runs.
type history struct {
	restartedFrom      int           // first point of this run after a restart, or -1, or unknown
	innerRestartedFrom int           // first iteration of that point, if it was taken up, or -1, or unknown
	last               place         // that is known to have been done, in this run or before
	redo               time.Duration // spent on what had been done before

	// Of earlier attempts.
	sweep, inner []checkpoint.Stats

	attempt
}

// attempt is the present one.
type attempt struct {
	lost     place // what comes up to it is done again
	start    time.Time
	redid    time.Duration // in earlier attempts
	reported bool
}

// unknown is less than everything that is known.
const unknown = -2

func newHistory() *history {
	return &history{restartedFrom: unknown, innerRestartedFrom: unknown, last: nowhere}
}

// share gives ranks that have replaced others what those knew. It is collective.
// What nobody has survived to know is lost: then a recovery counts as a restart.
func (h *history) share(ctx context.Context, z *aft.Zone) error {
	if z.Epoch() == 0 {
		return nil
	}
	known := []int64{int64(h.restartedFrom), int64(h.innerRestartedFrom), h.last.number()}
	if err := comm.Allreduce(ctx, z.Comm(), known, known, comm.Max); err != nil {
		return err
	}
	h.restartedFrom, h.innerRestartedFrom, h.last = int(known[0]), int(known[1]), placeOf(known[2])
	return nil
}

// spent is called when an attempt has ended, with what its checkpoints have cost.
func (h *history) spent(sweep, inner checkpoint.Stats) {
	h.sweep, h.inner = append(h.sweep, sweep), append(h.inner, inner)
}

// marker is the file that keeps that -die-at has happened.
func (c config) marker() string {
	return filepath.Join(c.cpPath, fmt.Sprintf("nested-died-at-%d-%d", c.dieAt.outer, c.dieAt.inner))
}

// newDeath is what -die-at asks for. Only original rank 0 dies, and the process
// with it.
func (j *job) newDeath() (*dieonce.Death, error) {
	if j.dieAt == nowhere || j.zone.Original() != 0 {
		return &dieonce.Death{}, nil
	}
	return dieonce.New(j.marker(), j.fresh && j.zone.Epoch() == 0)
}

// beginAttempt is called when the sweep goes on with point outer.
func (j *job) beginAttempt(outer int, death *dieonce.Death) {
	h := j.past
	if death.Happened() && j.dieAt.after(h.last) {
		h.last = j.dieAt
	}
	h.attempt = attempt{lost: h.last, start: time.Now(), redid: h.redo}
	switch {
	case h.restartedFrom != unknown:
	case j.sweep.Stats().Restored:
		h.restartedFrom = outer
	default:
		h.restartedFrom = -1
	}
}

// began is called when the computation of a point begins or goes on. Once in an
// attempt, it says from where.
func (j *job) began(outer, iter int) {
	h := j.past
	if h.reported {
		return
	}
	h.reported = true
	innerRestored := j.inner.Stats().Restored
	switch {
	case h.innerRestartedFrom != unknown:
	case innerRestored:
		h.innerRestartedFrom = iter
	default:
		h.innerRestartedFrom = -1
	}
	if j.comm.Rank() != 0 {
		return
	}
	if j.zone.Epoch() > 0 {
		fmt.Fprintf(j.stderr, "recovered: the next is iteration %d of point %d\n", iter, outer)
		return
	}
	if h.restartedFrom >= 0 {
		fmt.Fprintf(j.stderr, "restarted from the checkpoint in %s: the next point is %d\n", j.cpPath, outer)
	}
	if innerRestored {
		fmt.Fprintf(j.stderr, "point %d goes on from its own checkpoint: the next iteration is %d\n", outer, iter)
	}
}

// completed is called by all ranks when an iteration has ended.
func (j *job) completed(ctx context.Context, at place, death *dieonce.Death) error {
	h := j.past
	if at.after(h.last) {
		h.last = at
	}
	if !at.after(h.lost) {
		h.redo = h.redid + time.Since(h.start)
	}
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
