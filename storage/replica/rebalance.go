package replica

import (
	"context"
)

// Rebalance submits the present version anew among the ranks that there are now, so that its copies are
// where those of a new version would be: evenly spread, on different nodes, in as few sets of
// ranks as can be. It is collective. Copies move then, and each rank needs memory for another
// version and for its share of the blocks; the version gets the next number. If blocks are lost it is a
// *LostError, and nothing changes.
func (s *Store) Rebalance(ctx context.Context) error {
	return s.start(ctx, func(x *exchange) error {
		v, err := s.read()
		if err != nil {
			return x.refuse(err)
		}
		if lost := v.layout.lostBlocks(); lost != nil {
			return x.refuse(&LostError{lost})
		}
		share := Even(v.layout.geo.n, x.comm.Size(), int(x.comm.Rank()))
		ld := newLoading(s, x, v)
		err = ld.run([]Range{share})
		if err != nil && !ld.complete {
			return err
		}
		x.agreed = false // others may know nothing of a loss
		if _, err := s.settled(x, err); err != nil {
			return err
		}
		got := ld.loaded()
		return s.submit(x, Blocks{N: v.layout.geo.n, Size: v.layout.geo.size, First: share.Lo, Data: got.Data, Offsets: got.offsets})
	}).Wait(context.WithoutCancel(ctx))
}
