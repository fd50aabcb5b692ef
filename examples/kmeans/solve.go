package main

import (
	"context"
	"fmt"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/kmeans/lloyd"
)

// solve is one attempt. It goes on, on the ranks that there are now, with the centres
// that one of them has, and with points of which each rank has its part in memory.
func (w *worker) solve(ctx context.Context, z *aft.Zone) error {
	c := z.Comm()
	if err := w.state.agree(ctx, z, w.copies); err != nil {
		return err
	}
	if err := w.distribute(ctx, z); err != nil {
		return err
	}
	cp, err := w.checkpoint(c)
	if err != nil {
		return err
	}
	defer cp.Close()
	if err := w.takeUp(ctx, cp); err != nil {
		return err
	}
	sums, err := w.newSums(ctx, c)
	if err != nil {
		return err
	}
	if w.state.centres == nil {
		if err := w.choose(ctx, c); err != nil {
			return err
		}
	}
	switch {
	case w.rank != 0:
	case z.Epoch() > 0:
		fmt.Fprintf(w.stderr, "recovered: the next iteration is %d\n", w.state.next)
	case cp.Stats().Restored:
		fmt.Fprintf(w.stderr, "restarted from the centres in %s: the next iteration is %d\n", w.CPPath, w.state.next)
	}
	for w.state.next < w.iterations {
		if err := w.assign(ctx, c, sums); err != nil {
			return err
		}
		sums.Move(w.state.centres)
		iter := w.state.next
		w.state.next++
		z.Step(iter)
		w.show(iter, sums)
		if err := w.mayDie(ctx, z, iter); err != nil {
			return err
		}
		if err := w.save(ctx, cp); err != nil {
			return err
		}
	}
	if err := w.finished(ctx, cp); err != nil {
		return err
	}
	if err := w.assign(ctx, c, sums); err != nil { // to the centres as they are now
		return err
	}
	return w.finish(ctx, z, sums)
}

// newSums makes room for the sums of an iteration. The bounds of all points are the same
// whoever has which of them, and so are the sums.
func (w *worker) newSums(ctx context.Context, c *comm.Comm) (*lloyd.Sums, error) {
	bounds := lloyd.NewBounds(w.points.dim)
	w.points.each(func(_ int64, block []float64, n int) { bounds.Include(block[:n*w.points.dim]) })
	if err := comm.Allreduce(ctx, c, bounds, bounds, comm.Max); err != nil {
		return nil, err
	}
	return lloyd.NewSums(w.points.total, w.centres, bounds), nil
}

// assign adds up the points of each cluster, those of all ranks.
func (w *worker) assign(ctx context.Context, c *comm.Comm, sums *lloyd.Sums) error {
	sums.Reset()
	w.points.each(func(_ int64, block []float64, n int) { sums.Add(block, n, w.state.centres) })
	return comm.Allreduce(ctx, c, sums.List(), sums.List(), comm.Sum, comm.AnyOrder) // integers: any order will do
}
