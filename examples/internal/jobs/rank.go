package jobs

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/timeline"
)

// Rank is one rank of a job. It lives longer than an attempt.
type Rank struct {
	*Job
	number comm.Rank // in the last attempt; -1 before the first one

	atStart       int // ranks that the job has begun with; 0: unknown as yet
	history       History
	restartedFrom Start
	earlier       checkpoint.Stats // of earlier attempts

	// Of the present attempt:
	zone    *aft.Zone
	cp      *checkpoint.Checkpoint
	deaths  []death
	outcome Outcome
}

// First reports whether it was rank 0 in the last attempt, the one that speaks for all.
func (r *Rank) First() bool { return r.number == 0 }

// Begin is called when an attempt goes on with an iteration: the one after that of the
// version that was restored, or 0. It is collective.
func (r *Rank) Begin(ctx context.Context, cp *checkpoint.Checkpoint, iter int) (err error) {
	r.cp = cp
	r.note(timeline.Event{What: timeline.Restored, Iteration: iter})
	if err := r.history.Share(ctx, r.zone, &r.restartedFrom); err != nil {
		return err
	}
	if r.deaths, err = r.newDeaths(); err != nil {
		return err
	}
	for _, d := range r.deaths {
		if d.Happened() {
			r.history.Reached(int64(d.At))
		}
	}
	r.restartedFrom.Begin(iter, cp.Stats().Restored)
	r.history.Begin()
	switch {
	case r.number != 0:
	case r.zone.Epoch() > 0:
		fmt.Fprintf(r.Stderr, "recovered: the next iteration is %d\n", iter)
	case r.restartedFrom >= 0:
		fmt.Fprintf(r.Stderr, "restarted from the checkpoint in %s: the next iteration is %d\n", r.CPPath, iter)
	}
	return nil
}

// AtStart is how many ranks the job has begun with. Who has replaced another rank learns it
// from those who are left; if nobody is, all have been replaced. It is collective.
func (r *Rank) AtStart(ctx context.Context) (int, error) {
	c := r.zone.Comm()
	if r.zone.Epoch() == 0 {
		r.atStart = c.Size()
		return r.atStart, nil
	}
	known, err := comm.AllreduceOne(ctx, c, r.atStart, comm.Max)
	r.atStart = max(known, r.Processes)
	if r.atStart == 0 {
		r.atStart = c.Size()
	}
	return r.atStart, err
}

// Done is called by all ranks when an iteration has ended, before its checkpoint is
// written. It may be the end of this one.
func (r *Rank) Done(ctx context.Context, iter int) error {
	r.history.Done(int64(iter))
	if err := r.meet(ctx, timeline.Event{What: timeline.Done, Iteration: iter}); err != nil {
		return err
	}
	if !r.Kills.At(iter) {
		return nil
	}
	return r.die(ctx, iter)
}

// Tolerate lets the computation go on without a version. A *checkpoint.AsyncError is
// of an earlier iteration, which its text names.
func (r *Rank) Tolerate(ctx context.Context, iter int, err error) error {
	return Tolerate(ctx, r.Log.With("at_iteration", iter), r.number, err)
}

// Close closes a checkpoint of this attempt, and remembers what it has cost.
func (r *Rank) Close(cp *checkpoint.Checkpoint) {
	cp.Close()
	if r.cp == cp {
		r.note(timeline.Event{What: timeline.Closed})
	}
	r.earlier = Sum(r.earlier, cp.Stats())
}

// Show tells on a terminal, ten times in all, how far the job is.
func (r *Rank) Show(iter int, format string, args ...any) {
	every := max(r.Iterations/10, 1)
	if f, ok := r.Stderr.(*os.File); ok && r.number == 0 && (iter+1)%every == 0 && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(f, "iteration %d of %d, %s\n", iter+1, r.Iterations, fmt.Sprintf(format, args...))
	}
}

// Finish says what the attempt has come to. That of rank 0 is printed when the job has ended.
func (r *Rank) Finish(o Outcome) { r.outcome = o }
