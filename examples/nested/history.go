package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/craft-go/craft/examples/internal/dieonce"
)

// history is what happened to the job before and in this run.
type history struct {
	restartedFrom      int // first point of this run after a restart, or -1
	innerRestartedFrom int // first iteration of that point, if it was taken up, or -1
	lost               place
	redo               time.Duration // spent on what an earlier run had done
	start              time.Time
	reported           bool
}

// newDeath is what -die-at asks for. Only rank 0 dies, and the process with it.
func (j *job) newDeath() *dieonce.Death {
	if j.dieAt == nowhere || j.comm.Rank() != 0 {
		return &dieonce.Death{}
	}
	return dieonce.New(filepath.Join(j.cpPath, fmt.Sprintf("nested-died-at-%d-%d", j.dieAt.outer, j.dieAt.inner)), j.fresh)
}

func (j *job) newHistory(outer int, death *dieonce.Death) history {
	h := history{restartedFrom: -1, innerRestartedFrom: -1, lost: nowhere, start: time.Now()}
	if j.sweep.Stats().Restored {
		h.restartedFrom = outer
	}
	if death.Happened() {
		h.lost = j.dieAt
	}
	return h
}

// began is called when the computation of a point begins or goes on. Once, it
// says from where.
func (j *job) began(outer, iter int) {
	if j.past.reported {
		return
	}
	j.past.reported = true
	if j.inner.Stats().Restored {
		j.past.innerRestartedFrom = iter
	}
	if j.comm.Rank() != 0 {
		return
	}
	if j.past.restartedFrom >= 0 {
		fmt.Fprintf(j.stderr, "restarted from the checkpoint in %s: the next point is %d\n", j.cpPath, outer)
	}
	if j.past.innerRestartedFrom >= 0 {
		fmt.Fprintf(j.stderr, "point %d goes on from its own checkpoint: the next iteration is %d\n", outer, iter)
	}
}

// completed is called by all ranks when an iteration has ended.
func (j *job) completed(ctx context.Context, at place, death *dieonce.Death) error {
	if !at.after(j.past.lost) {
		j.past.redo = time.Since(j.past.start)
	}
	if at != j.dieAt {
		return nil
	}
	// So that what -die-at shows does not depend on the speed of the disk.
	if err := j.wait(ctx); err != nil {
		return err
	}
	return death.Die()
}
