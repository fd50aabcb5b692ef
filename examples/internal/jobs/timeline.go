package jobs

import (
	"context"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/timeline"
)

// Where somebody measures (timeline.Variable), ranks meet before each part of an attempt that is
// measured: waiting for the slowest one then counts for what it was slow with.

// meet notes what all ranks have come to.
func (r *Rank) meet(ctx context.Context, e timeline.Event) error {
	if !r.timeline.Watched() {
		return nil
	}
	if err := comm.Barrier(ctx, r.zone.Comm()); err != nil {
		return err
	}
	r.note(e)
	return nil
}

// note adds an event of this rank and attempt. One that cannot be written is missed by who reads them.
func (r *Rank) note(e timeline.Event) {
	e.Epoch, e.Rank = r.zone.Epoch(), int(r.zone.Original())
	if r.cp != nil {
		s := r.cp.Stats()
		e.Written, e.Read = s.CheckpointTime, s.RestartTime
	}
	if err := r.timeline.Add(e); err != nil {
		r.Log.Warn("not noted", "what", e.What, "error", err)
	}
}
