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
	check(await(ctx, p.c, victims[1]))
	check(
		equalSlices("Failed", comm.Failed(p.c), victims[1:]),
		equalSlices("Acknowledge", comm.Acknowledge(p.c), victims[1:]))
	if p.c.Rank() == victims[0] {
		p.dieHeard(ctx, victims[1])
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
	reversed := must(comm.Split(ctx, p.c, 0, -int(p.c.Rank())))
	victim := p.one(p.f.Die)
	mirrored := comm.Rank(p.c.Size()-1) - victim
	check(
		await(ctx, p.c, victim), await(ctx, reversed, mirrored),
		equalSlices("Failed", comm.Failed(p.c), []comm.Rank{victim}),
		equalSlices("Failed in the reversed order", comm.Failed(reversed), []comm.Rank{mirrored}),
		equalSlices("Acknowledge", comm.Acknowledge(p.c), []comm.Rank{victim}))
	_, err := anyByte(ctx, reversed, never)
	check(failed("receive from any source, acknowledged elsewhere", err, mirrored))
	_, err = comm.Agree(ctx, reversed, 1)
	return first(failed("agree, acknowledged elsewhere", err, mirrored), agreesOn(ctx, p.c, 1))
}
