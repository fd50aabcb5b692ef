package commtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/craft-go/craft/aft/comm"
)

// runSoak has ranks do random things and die at random moments; the survivors
// revoke, shrink and go on, until one is left.
//
// Each epoch is a communicator. In each step of it the ranks do one operation and
// agree whether it was well: whoever sees a failure revokes first, so that nobody
// waits for it in the operation.
func runSoak(ctx context.Context, p *player) error {
	immortal := p.choose()
	c := must(p.c.Dup(ctx))
	for c.Size() > 1 {
		p.doom(c, immortal)
		check(p.epoch(ctx, c))
		c = must(c.Shrink(ctx))
	}
	return first(equal("the last one", p.c.Rank(), immortal), await(ctx, p.c, others(p.c, immortal)...))
}

// doom orders deaths: about one rank of c by itself, and sometimes one by the
// immortal's hand.
func (p *player) doom(c *comm.Comm, immortal comm.Rank) {
	victim, murder := p.choose(), p.same.IntN(3) == 0
	switch {
	case p.c.Rank() != immortal:
		if p.own.IntN(c.Size()-1) == 0 && !p.doomed {
			p.doomed = true
			p.dieSoon()
		}
	case murder && victim != immortal:
		p.after(soon(p.own), func() { p.f.Kill(int(victim)) })
	}
}

// epoch goes on until the ranks agree that one has failed.
func (p *player) epoch(ctx context.Context, c *comm.Comm) error {
	limit := 1 + p.same.IntN(60)
	seed := p.same.Uint64()
	for step := range limit {
		random := rand.New(rand.NewPCG(seed, uint64(step)))
		op := soakOps[random.IntN(len(soakOps))]
		well := uint64(1)
		if err := op.call(ctx, c); err != nil {
			check(gone(op.name, err), c.Revoke())
			well = 0
		}
		flags, err := c.Agree(ctx, well)
		if err != nil && !errors.Is(err, comm.ErrProcFailed) {
			return fmt.Errorf("agree at step %d, %d ranks: %w", step, c.Size(), err)
		}
		if err != nil || flags == 0 {
			return c.Revoke()
		}
	}
	return nil // and shrink all the same
}

// soakOps check what they get.
var soakOps = []trial{
	{"works", 1, works},
	{"messages", 2, ring},
	{"allreduce", 1, allreduce},
	{"broadcast", 1, bcast},
	{"gather", 1, gatherv},
	{"all to all", 1, alltoallv},
	{"any source", 2, anySource},
	{"barrier", 1, barrier},
	{"dup", 1, func(ctx context.Context, c *comm.Comm) error {
		return worksOrIsRevoked(ctx, must(c.Dup(ctx)))
	}},
	{"shrink of a duplicate", 1, func(ctx context.Context, c *comm.Comm) error {
		return worksOrIsRevoked(ctx, must(must(c.Dup(ctx)).Shrink(ctx)))
	}},
}

func worksOrIsRevoked(ctx context.Context, c *comm.Comm) error {
	err := works(ctx, c)
	if err != nil {
		return first(c.Revoke(), err)
	}
	return nil
}
