package commtest

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/craft-go/craft/aft/comm"
)

var failListTrials = []faultTrial{
	{"list/no failure", fromOne, listAlive},
	{"list/grows", fromThree, listGrows},
	{"list/of each communicator", fromTwo, listEach},
	{"list/at once", fromTwo, listAtOnce},
}

func listAlive(_ context.Context, p *player) error {
	select {
	case <-p.c.FailureKnown():
		return errors.New("FailureKnown is closed, and nobody has failed")
	default:
	}
	return first(
		equal("length of Failed", len(p.c.Failed()), 0),
		equal("length of Acknowledge", len(p.c.Acknowledge()), 0))
}

// listGrows: what was acknowledged stays in both lists.
func listGrows(ctx context.Context, p *player) error {
	victims := pick(p.same, p.c.Size(), 2)
	if p.c.Rank() == victims[1] {
		p.f.Die()
	}
	check(await(ctx, p.c, victims[1]))
	check(told(ctx, p.c))
	check(
		equalSlices("Failed", p.c.Failed(), victims[1:]),
		equalSlices("Acknowledge", p.c.Acknowledge(), victims[1:]))
	if p.c.Rank() == victims[0] {
		p.dieHeard(ctx, victims[1])
	}
	return first(
		tell(ctx, p.c, victims[0]),
		await(ctx, p.c, victims[0]),
		equalSlices("Failed", p.c.Failed(), victims),
		equalSlices("Acknowledge", p.c.Acknowledge(), victims),
		equalSlices("Failed", p.c.Failed(), victims))
}

// told waits until FailureKnown is closed.
func told(ctx context.Context, c *comm.Comm) error {
	select {
	case <-c.FailureKnown():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("FailureKnown is not closed: %w", context.Cause(ctx))
	}
}

// listEach: each communicator has its own numbers, and is acknowledged alone.
func listEach(ctx context.Context, p *player) error {
	reversed := must(p.c.Split(ctx, 0, -int(p.c.Rank())))
	victim := p.one(p.f.Die)
	mirrored := comm.Rank(p.c.Size()-1) - victim
	check(
		await(ctx, p.c, victim), await(ctx, reversed, mirrored),
		equalSlices("Failed", p.c.Failed(), []comm.Rank{victim}),
		equalSlices("Failed in the reversed order", reversed.Failed(), []comm.Rank{mirrored}),
		equalSlices("Acknowledge", p.c.Acknowledge(), []comm.Rank{victim}))
	_, err := anyByte(ctx, reversed, never)
	check(failed("receive from any source, acknowledged elsewhere", err, mirrored))
	_, err = reversed.Agree(ctx, 1)
	return first(failed("agree, acknowledged elsewhere", err, mirrored), agreesOn(ctx, p.c, 1))
}

// listAtOnce: who learns of a failure on one communicator finds it known on all of them.
func listAtOnce(ctx context.Context, p *player) error {
	all := []*comm.Comm{p.c}
	for range 7 {
		all = append(all, must(p.c.Dup(ctx)))
	}
	var waiting errgroup.Group
	for _, c := range all {
		r := comm.Irecv(c, comm.AnySource, never, make([]byte, 1))
		waiting.Go(func() error {
			if _, err := r.Wait(ctx); err == nil {
				return errors.New("a message has come that nobody has sent")
			}
			for i, c := range all {
				select {
				case <-c.FailureKnown():
				default:
					return fmt.Errorf("a failure is known on a communicator, and not on number %d", i)
				}
			}
			return nil
		})
	}
	p.one(p.f.Die)
	return waiting.Wait()
}
