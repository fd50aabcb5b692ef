package commtest

import (
	"context"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
)

// failCollectiveTrials are all collectives of the suite without failures, each
// called until a failure ends it.
func failCollectiveTrials() []faultTrial {
	var trials []faultTrial
	for _, tr := range collectiveTrials {
		trials = append(trials,
			faultTrial{"collective/" + tr.name + "/dead before", []int{2, 4, 8}, func(ctx context.Context, p *player) error {
				return p.cascade(ctx, tr.call, false)
			}},
			faultTrial{"collective/" + tr.name + "/dies meanwhile", []int{2, 4, 8}, func(ctx context.Context, p *player) error {
				return p.cascade(ctx, tr.call, true)
			}})
	}
	return trials
}

// cascade repeats a collective until a rank has failed, revokes, shrinks, and
// goes on with one rank less, down to one.
func (p *player) cascade(ctx context.Context, call func(context.Context, *comm.Comm) error, meanwhile bool) error {
	c := p.c
	for c.Size() > 1 {
		victim, known := comm.Rank(p.same.IntN(c.Size())), p.same.IntN(2) == 0
		switch {
		case c.Rank() != victim:
		case meanwhile:
			p.dieSoon()
			check(untilFailure(ctx, c, call))
			p.f.Die()
		default:
			p.f.Die()
		}
		if known && !meanwhile {
			check(await(ctx, c, victim), meet(ctx, c))
		}
		check(untilFailure(ctx, c, call))
		check(c.Revoke())
		next := settle(ctx, c)
		if err := first(equal("size after a failure", next.Size(), c.Size()-1), works(ctx, next), meet(ctx, next)); err != nil {
			return fmt.Errorf("rank %d of %d died: %w", victim, c.Size(), err)
		}
		c = next
	}
	return nil
}

// untilFailure calls until there is an error, which must be that of a failure.
func untilFailure(ctx context.Context, c *comm.Comm, call func(context.Context, *comm.Comm) error) error {
	for ctx.Err() == nil {
		if err := call(ctx, c); err != nil {
			return gone("operation after a failure", err)
		}
	}
	return context.Cause(ctx)
}
