package commtest

import (
	"context"

	"github.com/craft-go/craft/aft/comm"
)

var failListTrials = []faultTrial{
	{"list/no failure", fromOne, listAlive},
	{"list/grows", fromThree, listGrows},
	{"list/of each communicator", fromTwo, listEach},
}

func listAlive(_ context.Context, p *player) error {
	return first(
		equal("length of Failed", len(comm.Failed(p.c)), 0),
		equal("length of Acknowledge", len(comm.Acknowledge(p.c)), 0))
}

// listGrows: what was acknowledged stays in both lists.
func listGrows(ctx context.Context, p *player) error {
	victims := pick(p.same, p.c.Size(), 2)
	if p.c.Rank() == victims[1] {
		p.f.Die()
	}
	if err := await(ctx, p.c, victims[1]); err != nil {
		return err
	}
	err := first(
		equalSlices("Failed", comm.Failed(p.c), victims[1:]),
		equalSlices("Acknowledge", comm.Acknowledge(p.c), victims[1:]))
	if err != nil {
		return err
	}
	if p.c.Rank() == victims[0] {
		for _, r := range others(p.c, victims...) {
			if err := hear(ctx, p.c, r); err != nil {
				return err
			}
		}
		p.f.Die()
	}
	return first(
		tell(ctx, p.c, victims[0]),
		await(ctx, p.c, victims[0]),
		equalSlices("Failed", comm.Failed(p.c), victims),
		equalSlices("Acknowledge", comm.Acknowledge(p.c), victims),
		equalSlices("Failed", comm.Failed(p.c), victims))
}

// listEach: each communicator has its own numbers, and is acknowledged alone.
func listEach(ctx context.Context, p *player) error {
	reversed, err := comm.Split(ctx, p.c, 0, -int(p.c.Rank()))
	if err != nil {
		return err
	}
	victim := p.one(p.f.Die)
	mirrored := comm.Rank(p.c.Size()-1) - victim
	err = first(
		await(ctx, p.c, victim), await(ctx, reversed, mirrored),
		equalSlices("Failed", comm.Failed(p.c), []comm.Rank{victim}),
		equalSlices("Failed in the reversed order", comm.Failed(reversed), []comm.Rank{mirrored}),
		equalSlices("Acknowledge", comm.Acknowledge(p.c), []comm.Rank{victim}))
	if err != nil {
		return err
	}
	_, err = anyByte(ctx, reversed, never)
	if err := failed("receive from any source, acknowledged elsewhere", err, mirrored); err != nil {
		return err
	}
	_, err = comm.Agree(ctx, reversed, 1)
	return first(failed("agree, acknowledged elsewhere", err, mirrored), agreesOn(ctx, p.c, 1))
}
