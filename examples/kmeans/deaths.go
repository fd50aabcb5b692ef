package main

import (
	"context"
	"math"
	"os"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/lanczos/random"
)

// mayDie is called by all ranks after an iteration, and kills this process if its time
// has come.
func (w *worker) mayDie(ctx context.Context, z *aft.Zone, iter int) error {
	if w.unlucky(z, iter) {
		return w.die(os.Getpid())
	}
	if !w.kills.At(iter) || w.state.spared {
		return nil
	}
	// When one rank has left the barrier all have done this iteration, which is not done
	// again then: who replaces a dead one does not come here.
	err := comm.Barrier(ctx, z.Comm())
	for _, k := range w.kills {
		if k.At != iter || !k.Meant(z) {
			continue
		}
		pid, err := k.Victim(w.parent)
		if err != nil {
			return err
		}
		return w.die(pid)
	}
	return err
}

// unlucky draws lots as the paper does: each rank fails in each iteration with the same
// probability, so that of all ranks the share that was asked for fails in the course of
// the run. After a recovery the lots are new ones.
func (w *worker) unlucky(z *aft.Zone, iter int) bool {
	if w.failures == 0 {
		return false
	}
	each := -math.Expm1(math.Log1p(-w.failures) / float64(w.iterations))
	lot := int64(z.Epoch())*int64(w.iterations) + int64(iter)
	return random.Uniform(^w.generated.Seed-uint64(z.Original()), lot) < each
}
