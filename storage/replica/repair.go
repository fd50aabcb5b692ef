package replica

import (
	"context"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

// Repair restores the copies that were lost with ranks, or turned out to be damaged, where the layout
// says that they are now (paper, section IV-E). It is collective. All other copies stay where they are.
// Blocks without a copy stay lost, and are no error: see Lost.
func (s *Store) Repair(ctx context.Context) error {
	return s.StartRepair(ctx).Wait(context.WithoutCancel(ctx))
}

// StartRepair begins with Repair and does not wait for its end.
func (s *Store) StartRepair(ctx context.Context) *Request {
	return s.start(ctx, func(x *exchange) error {
		began := time.Now()
		defer func() { s.count(&s.stats.repaired, x, began) }()
		v, err := s.read()
		if err != nil {
			return x.refuse(err)
		}
		return newLoading(s, x, v).repair()
	})
}

func (ld *loading) repair() error {
	missing := ld.v.missing()
	if _, err := ld.s.settled(ld.x, ld.makeRoom(missing)); err != nil {
		return err
	}
	for _, q := range missing {
		if !ld.v.good(q) { // else a Repair that has ended early has brought it
			ld.wantCopy(q)
		}
	}
	ld.mendDamaged()
	if err := ld.fetch(ld.ask); err != nil {
		return err
	}
	return ld.filled()
}

// missing are the ranges that this rank is to have a copy of and has none.
func (v *version) missing() (ranges []int64) {
	v.layout.touched(func(q int64) {
		lacks := func(c copyAt) bool { return c.seat == v.seat && !v.layout.holds(c) }
		if !v.layout.isLost(q) && v.seat != absent && slices.ContainsFunc(v.layout.copies(nil, q), lacks) {
			ranges = append(ranges, q)
		}
	})
	return ranges
}

// makeRoom takes memory for ranges. That of those whose blocks differ in size is taken when they come.
func (ld *loading) makeRoom(ranges []int64) error {
	v := ld.v
	fresh := slices.DeleteFunc(slices.Clone(ranges), func(q int64) bool { return v.copies[q] != nil })
	if v.layout.geo.size > 0 {
		return v.allot(ld.s.mem, ld.s.nearby.shares(), fresh, v.layout.geo.bytes)
	}
	v.use.Lock()
	defer v.use.Unlock()
	for _, q := range fresh {
		v.copies[q] = newHeld(nil)
	}
	return nil
}

// mendDamaged adds the copies of this rank that are known to be damaged.
func (ld *loading) mendDamaged() {
	for q, h := range ld.v.copies {
		if h.state.Load() == damaged && ld.v.layout.holdsAt(q, ld.v.seat) {
			ld.mend(q)
		}
	}
	slices.SortFunc(ld.mending, func(a, b *want) int { return int(min(max(a.q-b.q, -1), 1)) })
}

// holdsAt reports whether a seat has got a copy of a range.
func (l *layout) holdsAt(q int64, seat Seat) bool { return slices.Contains(l.holders(q), seat) }

// filled agrees on what is lost for good, because no copy is intact, and notes that all have what they are to have.
func (ld *loading) filled() error {
	if _, err := ld.s.settled(ld.x, ld.failed); err != nil {
		return err
	}
	var own []int64
	for _, w := range ld.mending {
		if !w.got { // whoever has a copy was asked
			own = append(own, w.q)
		}
	}
	all, err := comm.Allgatherv(ld.x.ctx, ld.x.comm, own)
	if err != nil {
		return err
	}
	ld.s.mu.Lock()
	defer ld.s.mu.Unlock()
	ld.v.layout.lose(slices.Concat(all...))
	ld.v.layout.fill()
	return nil
}
