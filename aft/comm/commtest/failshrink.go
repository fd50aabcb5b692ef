package commtest

import (
	"context"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
)

var failShrinkTrials = []faultTrial{
	{"shrink/no failure", fromOne, shrinkAlive},
	{"shrink/dead before", fromTwo, shrinkDead},
	{"shrink/dies meanwhile", fromTwo, shrinkDying},
	{"shrink/down to one", fromTwo, shrinkDown},
	{"shrink/two communicators", fromTwo, shrinkTwo},
	{"shrink/failure is not known yet", fromTwo, shrinkUnaware},
}

func shrinkAlive(ctx context.Context, p *player) error {
	c := p.c
	for range 5 {
		s := must(c.Shrink(ctx))
		check(p.isMadeOf(ctx, s, others(p.c)))
		c = s
	}
	return works(ctx, p.c)
}

// shrinkDead: half of the times revoked before.
func shrinkDead(ctx context.Context, p *player) error {
	victims := p.some(p.f.Die)
	revoke := p.same.IntN(2) == 0
	check(await(ctx, p.c, victims...), meet(ctx, p.c))
	if revoke {
		check(p.c.Revoke())
	}
	s, err := p.c.Shrink(ctx)
	return first(err,
		p.isMadeOf(ctx, s, others(p.c, victims...)),
		equalSlices("Failed of the old one", p.c.Failed(), victims))
}

// shrinkUnaware: ranks shrink without having been told of the failure.
func shrinkUnaware(ctx context.Context, p *player) error {
	victim := p.one(p.f.Die)
	return p.isMadeOf(ctx, must(p.c.Shrink(ctx)), others(p.c, victim))
}

// shrinkDying: again and again, while any number of ranks die.
func shrinkDying(ctx context.Context, p *player) error {
	victims := p.some(p.dieSoon)
	var answers []int
	before := p.c.Size()
	for range 15 {
		s := must(p.c.Shrink(ctx))
		if s.Size() > before {
			return fmt.Errorf("%d ranks, after %d", s.Size(), before)
		}
		before = s.Size()
		answers = append(answers, s.Size())
	}
	if p.isOneOf(victims) {
		return p.killed(ctx)
	}
	check(await(ctx, p.c, victims...), alike(ctx, p.c, "sizes", answers))
	return p.isMadeOf(ctx, must(p.c.Shrink(ctx)), others(p.c, victims...))
}

func shrinkDown(ctx context.Context, p *player) error {
	c := p.c
	var dead []comm.Rank
	for c.Size() > 1 {
		left := others(p.c, dead...)
		victim := left[p.same.IntN(len(left))]
		dead = append(dead, victim)
		if p.c.Rank() == victim {
			p.f.Die()
		}
		s := must(c.Shrink(ctx))
		check(p.isMadeOf(ctx, s, others(p.c, dead...)))
		c = s
	}
	return nil
}

// shrinkTwo: the messages of the two results are apart.
func shrinkTwo(ctx context.Context, p *player) error {
	dup := must(p.c.Dup(ctx))
	victim := p.one(p.f.Die)
	one := must(p.c.Shrink(ctx))
	two := must(dup.Shrink(ctx))
	return first(
		p.isMadeOf(ctx, two, others(p.c, victim)),
		p.isMadeOf(ctx, one, others(p.c, victim)),
		areApart(ctx, one, two))
}

// areApart is an error if a message of one communicator can be received on the
// other. Both have the same members.
func areApart(ctx context.Context, one, two *comm.Comm) error {
	var first1, first2 [1]byte
	recv1 := comm.Irecv(one, comm.AnySource, comm.AnyTag, first1[:])
	recv2 := comm.Irecv(two, comm.AnySource, comm.AnyTag, first2[:])
	check(comm.Send(ctx, two, right(two), 1, []byte{2}))
	must(recv2.Wait(ctx))
	check(comm.Send(ctx, one, right(one), 1, []byte{1}))
	must(recv1.Wait(ctx))
	return first(equal("message of the first", first1[0], 1), equal("message of the second", first2[0], 2))
}
