package main

import (
	"context"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
)

// history is what one rank knows of the job: of this run, over all attempts of
// the zone, and of earlier runs.
type history struct {
	restartedFrom int           // first iteration of this run if the job was restarted, -1 if not, or unknown
	last          int           // last iteration that is known to have been done, in this run or before; or -1
	redo          time.Duration // spent on iterations that had been done before
	earlier       []checkpoint.Stats

	attempt
}

// attempt is the present one.
type attempt struct {
	first int // its first iteration
	lost  int // iterations up to this one are done again
	began time.Time
	redid time.Duration // in earlier attempts
}

// unknown is less than everything that is known.
const unknown = -2

func newHistory() history { return history{restartedFrom: unknown, last: -1} }

// share gives ranks that have replaced others what those knew. It is collective.
// What nobody has survived to know is lost: then a recovery counts as a restart.
func (h *history) share(ctx context.Context, z *aft.Zone) error {
	if z.Epoch() == 0 {
		return nil
	}
	known := []int64{int64(h.restartedFrom), int64(h.last)}
	if err := comm.Allreduce(ctx, z.Comm(), known, known, comm.Max); err != nil {
		return err
	}
	h.restartedFrom, h.last = int(known[0]), int(known[1])
	return nil
}

// begin is called when an attempt goes on with iteration first; restored: after
// what a checkpoint has kept.
func (h *history) begin(first int, restored bool) {
	h.attempt = attempt{first: first, lost: h.last, began: time.Now(), redid: h.redo}
	switch {
	case h.restartedFrom != unknown:
	case restored:
		h.restartedFrom = first
	default:
		h.restartedFrom = -1
	}
}

// completed is called when an iteration has ended.
func (h *history) completed(iter int) {
	h.last = max(h.last, iter)
	if iter <= h.lost {
		h.redo = h.redid + time.Since(h.began)
	}
}

// spent is called when an attempt has ended, with what its checkpoint has cost.
func (h *history) spent(s checkpoint.Stats) {
	h.earlier = append(h.earlier, s)
}
