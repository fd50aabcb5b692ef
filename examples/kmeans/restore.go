package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/replica"
)

// restoreTimes is how long this rank was in functions of the store.
type restoreTimes struct{ open, submit, load, repair time.Duration }

// counts are of the points that this rank has got.
type counts struct {
	restored int64 // from the memory of other ranks
	anew     int64 // made or read again, because all copies were lost
}

// timed adds to spent how long f takes.
func timed(spent *time.Duration, f func() error) error {
	began := time.Now()
	defer func() { *spent += time.Since(began) }()
	return f()
}

// distribute has each block of points be on one rank: at first an even share on each;
// after a failure those of the dead come from the copies in the store. It is collective.
func (w *worker) distribute(ctx context.Context, z *aft.Zone) error {
	c := z.Comm()
	if err := w.know(ctx, c); err != nil {
		return err
	}
	if err := w.canDraw(); err != nil {
		return err
	}
	has, err := allgather(ctx, c, w.points.ranges)
	if err != nil {
		return err
	}
	store, err := w.open(ctx, c)
	if err != nil {
		return err
	}
	mine := w.points.room(takes(w.points.blocks(), has, int(c.Rank())))
	lost, err := w.load(ctx, store, mine)
	if err != nil {
		return err
	}
	for _, r := range lost {
		source, err := w.reader()
		if err != nil {
			return err
		}
		if err := mine.read(source, r, mine.from(r.Lo)); err != nil {
			return err
		}
	}
	// Who waits here for others, which still make or read points, does not wait in the store.
	if err := w.count(ctx, z, mine, lost); err != nil {
		return err
	}
	w.points.add(mine)
	return w.protect(ctx, c, store)
}

// allgather tells all ranks which blocks each of them has.
func allgather(ctx context.Context, c *comm.Comm, mine []replica.Range) ([][]replica.Range, error) {
	var flat []int64
	for _, r := range mine {
		flat = append(flat, r.Lo, r.Hi)
	}
	all, err := comm.Allgatherv(ctx, c, flat)
	if err != nil {
		return nil, err
	}
	has := make([][]replica.Range, len(all))
	for rank, list := range all {
		for i := 0; i < len(list); i += 2 {
			has[rank] = append(has[rank], replica.Range{Lo: list[i], Hi: list[i+1]})
		}
	}
	return has, nil
}

// open opens the store, which has outlived the failure on those who have, at the
// beginning of each attempt.
func (w *worker) open(ctx context.Context, c *comm.Comm) (store *replica.Store, err error) {
	err = timed(&w.restore.open, func() error {
		store, err = replica.Open(ctx, c, "points", replica.Options{Copies: w.state.copies, SharedNodes: true, Log: w.log})
		return err
	})
	return store, err
}

// load gets points from the store, and returns which blocks are not there: all of them
// before the first submission.
func (w *worker) load(ctx context.Context, store *replica.Store, to points) (lost []replica.Range, err error) {
	if store.Version() == 0 {
		return to.ranges, nil
	}
	var got replica.Loaded
	err = timed(&w.restore.load, func() error {
		got, err = store.Load(ctx, nil, to.ranges...)
		return err
	})
	var some *replica.LostError
	if errors.As(err, &some) { // the others have come
		lost = common(to.ranges, some.Ranges)
	} else if err != nil {
		return nil, err
	}
	decode(to.data, got.Data)
	return lost, nil
}

// count counts what the ranks have got after a failure. It is collective.
func (w *worker) count(ctx context.Context, z *aft.Zone, got points, lost []replica.Range) error {
	mine := got.sum(lost)
	anew, err := comm.AllreduceOne(ctx, z.Comm(), mine, comm.Sum)
	if err != nil || z.Epoch() == 0 {
		return err
	}
	w.counts.restored += got.sum(got.ranges) - mine
	w.counts.anew += mine
	if anew > 0 && w.rank == 0 {
		fmt.Fprintf(w.stderr, "%d points are in nobody's memory: they are made or read again\n", anew)
	}
	return nil
}

// protect makes copies of all blocks if some have none, or makes up for those that were
// lost, so that further ranks may fail. What it asks the store is known to all ranks.
func (w *worker) protect(ctx context.Context, c *comm.Comm, store *replica.Store) error {
	if store.Version() > 0 && len(store.Lost()) == 0 {
		return timed(&w.restore.repair, func() error { return store.Repair(ctx) })
	}
	p := &w.points
	share := replica.Even(p.blocks(), c.Size(), int(c.Rank()))
	return timed(&w.restore.submit, func() error {
		return store.Submit(ctx, replica.Blocks{
			N: p.blocks(), Size: 8 * p.blockLen(), First: share.Lo, Count: share.Len(),
			Fill: func(id int64, to []byte) error { return w.serialize(id, to) },
		})
	})
}

// serialize writes a block into memory of the store. A rank submits blocks that follow one
// another: after a failure it may not have all of them.
func (w *worker) serialize(id int64, to []byte) error {
	block := w.points.block(id)
	if block == nil {
		source, err := w.reader()
		if err != nil {
			return err
		}
		block = make([]float64, w.points.blockLen())
		if err := w.points.read(source, replica.Range{Lo: id, Hi: id + 1}, block); err != nil {
			return err
		}
	}
	encode(to, block)
	return nil
}
