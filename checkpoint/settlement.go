package checkpoint

import (
	"context"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/placement"
)

// settlement is what a rank knows of a version when it is settled, or what all of them
// know together.
type settlement struct {
	// same are number, iteration, digest of the replicated values and of what all
	// parts of a version have in common: they must be the same on all ranks.
	same [4]int64
	// differ tells which of same are not.
	differ       [4]bool
	boxesChanged bool // on any rank
	outcome      placement.Outcome
	slowest      slowest
}

// reduce makes one reduction of it, of maxima: that of x and that of ^x show whether
// all x are equal.
func (s settlement) reduce(ctx context.Context, c comm.Comm) (settlement, error) {
	var own []int64
	for _, x := range s.same {
		own = append(own, x, ^x)
	}
	own = append(own, bit(s.boxesChanged), bit(s.outcome.Spilled),
		int64(s.slowest.checkpoint), int64(s.slowest.restart), int64(s.slowest.recovery), int64(s.slowest.redo))
	own = append(own, s.outcome.Levels.Missing()...)

	all := make([]int64, len(own))
	if err := comm.Allreduce(ctx, c, own, all, comm.Max[int64]); err != nil {
		return s, err
	}
	for i := range s.same {
		s.differ[i] = all[0] != ^all[1]
		all = all[2:]
	}
	s.boxesChanged, s.outcome.Spilled = all[0] != 0, all[1] != 0
	s.slowest = slowest{time.Duration(all[2]), time.Duration(all[3]), time.Duration(all[4]), time.Duration(all[5])}
	s.outcome.Levels = storage.FromMissing(all[6:])
	return s, nil
}
