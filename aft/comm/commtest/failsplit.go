package commtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/craft-go/craft/aft/comm"
)

var failSplitTrials = []faultTrial{
	{"split/dup", fromOne, dupAlive},
	{"split/by color", fromOne, splitColors},
	{"split/by key", fromOne, splitKeys},
	{"split/many", fromTwo, splitMany},
	{"split/dead before", fromTwo, splitDead},
	{"split/dies meanwhile", fromTwo, splitDying},
}

func dupAlive(ctx context.Context, p *player) error {
	dup := must(p.c.Dup(ctx))
	check(p.isMadeOf(ctx, dup, others(p.c)))
	return first(areApart(ctx, p.c, dup), areApart(ctx, dup, p.c))
}

// splitColors: every third rank is in none, the others by even and odd.
func splitColors(ctx context.Context, p *player) error {
	color := func(r comm.Rank) int {
		if r%3 == 2 {
			return -1 - int(r)
		}
		return int(r % 2)
	}
	part := must(p.c.Split(ctx, color(p.c.Rank()), 0))
	if color(p.c.Rank()) < 0 {
		if part != nil {
			return fmt.Errorf("color %d: got a communicator", color(p.c.Rank()))
		}
		return works(ctx, p.c)
	}
	var want []comm.Rank
	for r := range comm.Rank(p.c.Size()) {
		if color(r) == color(p.c.Rank()) {
			want = append(want, r)
		}
	}
	return first(p.isMadeOf(ctx, part, want), works(ctx, p.c))
}

// splitKeys: reversed, then by equal keys.
func splitKeys(ctx context.Context, p *player) error {
	reversed := must(p.c.Split(ctx, 7, -int(p.c.Rank())))
	var want []comm.Rank
	for r := comm.Rank(p.c.Size()) - 1; r >= 0; r-- {
		want = append(want, r)
	}
	check(p.isMadeOf(ctx, reversed, want))
	again, err := reversed.Split(ctx, 0, 0)
	return first(err, p.isMadeOf(ctx, again, want))
}

// splitMany: random trees of communicators, with messages in all of them.
func splitMany(ctx context.Context, p *player) error {
	all := []*comm.Comm{p.c}
	for i := range 12 {
		parent := all[len(all)-1]
		if i%4 == 0 {
			parent = p.c
		}
		part := must(parent.Split(ctx, p.own.IntN(2), p.own.IntN(3)))
		all = append(all, part)
	}
	for _, c := range all {
		check(works(ctx, c))
	}
	return nil
}

// splitDead: nothing is made of a communicator with a dead rank, for anybody.
func splitDead(ctx context.Context, p *player) error {
	victim := p.one(p.f.Die)
	if known := p.same.IntN(2) == 0; known {
		check(await(ctx, p.c, victim))
		p.c.Acknowledge() // makes no difference
	}
	for range 2 {
		_, err := p.c.Dup(ctx)
		check(failed("dup", err, victim))
		_, err = p.c.Split(ctx, -1, 0)
		check(failed("split", err, victim))
	}
	return p.isMadeOf(ctx, must(p.c.Shrink(ctx)), others(p.c, victim))
}

// splitDying: made by all or by none.
func splitDying(ctx context.Context, p *player) error {
	victims := p.some(p.dieSoon)
	made := 0
	var failure *comm.FailedError
	for ctx.Err() == nil {
		_, err := p.c.Dup(ctx)
		if errors.As(err, &failure) {
			break
		}
		if err != nil {
			return err
		}
		made++
	}
	if failure == nil {
		return context.Cause(ctx)
	}
	if p.isOneOf(victims) {
		return p.killed(ctx)
	}
	return first(
		await(ctx, p.c, victims...),
		alike(ctx, p.c, "number of communicators and the failure", fmt.Sprint(made, failure.Ranks)))
}
