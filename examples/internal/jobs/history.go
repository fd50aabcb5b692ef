package jobs

import (
	"context"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
)

// History is how far a job has come, as one rank knows it: in this run, over all
// attempts of the zone, and in earlier runs. Steps have numbers that grow, 0 or more.
type History struct {
	Redo time.Duration // spent on steps that had been done before

	next int64 // steps before it are known to have been done

	// Of the present attempt:
	lost  int64 // steps before it are done again
	began time.Time
	redid time.Duration // in earlier ones
}

// Start is where this run went on when the job was restarted: its first iteration, or point.
type Start int

const (
	NotRestarted Start = -1
	Unknown      Start = -2 // as yet: less than all that is known
)

// Begin is called at the beginning of an attempt; the first one counts. restored:
// it goes on after what a checkpoint has kept.
func (s *Start) Begin(first int, restored bool) {
	switch {
	case *s != Unknown:
	case restored:
		*s = Start(first)
	default:
		*s = NotRestarted
	}
}

// Share gives ranks that have replaced others what those knew. It is collective.
// What nobody has survived to know is lost: then a recovery counts as a restart.
func (h *History) Share(ctx context.Context, z *aft.Zone, starts ...*Start) error {
	if z.Epoch() == 0 {
		return nil
	}
	known := []int64{h.next}
	for _, s := range starts {
		known = append(known, int64(*s))
	}
	if err := comm.Allreduce(ctx, z.Comm(), known, known, comm.Max); err != nil {
		return err
	}
	h.next = known[0]
	for i, s := range starts {
		*s = Start(known[1+i])
	}
	return nil
}

// Reached says that a step was done, before this attempt goes on.
func (h *History) Reached(step int64) { h.next = max(h.next, step+1) }

// Begin is called when an attempt goes on.
func (h *History) Begin() { h.lost, h.began, h.redid = h.next, time.Now(), h.Redo }

// Done is called when a step has ended.
func (h *History) Done(step int64) {
	h.Reached(step)
	if step < h.lost {
		h.Redo = h.redid + time.Since(h.began)
	}
}
