package commtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/craft-go/craft/aft/comm"
)

var failAgreeTrials = []faultTrial{
	{"agree/no failure", fromOne, agreeAlive},
	{"agree/dead before", fromTwo, agreeDead},
	{"agree/some have acknowledged", fromThree, agreePartly},
	{"agree/dies meanwhile", fromTwo, agreeDying},
	{"agree/waits for the slowest", fromTwo, agreeSlow},
}

// ballot are the flags of a rank in a round: all, but maybe for its own one.
func ballot(r comm.Rank, round int) uint64 {
	if (uint64(r)*7+uint64(round)*13+3)*0x9e3779b97f4a7c15>>63 == 0 {
		return ^uint64(0)
	}
	return ^(uint64(1) << r)
}

// ballots are the flags that all ranks but some give.
func ballots(n, round int, without []comm.Rank) uint64 {
	flags := ^uint64(0)
	for r := range comm.Rank(n) {
		if !slices.Contains(without, r) {
			flags &= ballot(r, round)
		}
	}
	return flags
}

// counts is an error unless the flags are those of the living, and of the dead
// as they may have given them.
func counts(flags uint64, n, round int, dead []comm.Rank) error {
	all, living := ballots(n, round, nil), ballots(n, round, dead)
	if flags&^living != 0 || all&^flags != 0 {
		return fmt.Errorf("round %d: flags are %x, want between %x and %x", round, flags, all, living)
	}
	return nil
}

func agreeAlive(ctx context.Context, p *player) error {
	for round := range 50 {
		flags, err := p.c.Agree(ctx, ballot(p.c.Rank(), round))
		check(err, counts(flags, p.c.Size(), round, nil))
	}
	return equal("failed ranks acknowledged", len(p.c.Acknowledge()), 0)
}

// agreeDead: reported to all until all have acknowledged; the flags are valid
// all the same. Also when the communicator has been revoked.
func agreeDead(ctx context.Context, p *player) error {
	n := p.c.Size()
	victims := p.some(p.f.Die)
	check(await(ctx, p.c, victims...))
	for round := range 10 {
		if round == 3 {
			check(equalSlices("Acknowledge", p.c.Acknowledge(), victims))
		}
		if round == 6 {
			check(p.c.Revoke())
		}
		flags, err := p.c.Agree(ctx, ballot(p.c.Rank(), round))
		if round < 3 {
			err = failed("agree, not acknowledged", err, victims...)
		}
		check(err, equal("flags", flags, ballots(n, round, victims)))
	}
	return nil
}

// agreePartly: one rank alone has not acknowledged.
func agreePartly(ctx context.Context, p *player) error {
	victim, unaware := p.two()
	if p.c.Rank() == victim {
		p.f.Die()
	}
	check(await(ctx, p.c, victim))
	if p.c.Rank() != unaware {
		p.c.Acknowledge()
	}
	_, err := p.c.Agree(ctx, 0)
	check(failed("agree, one rank has not acknowledged", err, victim))
	p.c.Acknowledge()
	return agreesOn(ctx, p.c, 9)
}

// agreeDying: 50 in a row, while any number of ranks die. All survivors get the
// same answers, however they acknowledge.
func agreeDying(ctx context.Context, p *player) error {
	n := p.c.Size()
	victims := p.some(p.dieSoon)
	acknowledges := p.same.IntN(2) == 0
	var answers strings.Builder
	reported := false
	for round := range 50 {
		flags, err := p.c.Agree(ctx, ballot(p.c.Rank(), round))
		check(counts(flags, n, round, victims))
		var detail *comm.FailedError
		switch {
		case errors.As(err, &detail):
			fmt.Fprintf(&answers, "%x failed %v\n", flags, detail.Ranks)
		case err != nil:
			return err
		default:
			fmt.Fprintf(&answers, "%x\n", flags)
		}
		if reported && !acknowledges && err == nil {
			return fmt.Errorf("round %d: a failure is not reported any more, though nobody has acknowledged it", round)
		}
		reported = reported || err != nil
		if acknowledges && p.own.IntN(2) == 0 {
			p.c.Acknowledge()
		}
	}
	if p.isOneOf(victims) {
		return p.killed(ctx)
	}
	return first(await(ctx, p.c, victims...), alike(ctx, p.c, "answers of agree", answers.String()))
}

// agreeSlow: nobody has an answer before the last one has come.
func agreeSlow(ctx context.Context, p *player) error {
	for range 5 {
		p.one(func() { time.Sleep(soon(p.own)) })
		flags, err := p.c.Agree(ctx, ^(uint64(1) << p.c.Rank()))
		check(err, equal("flags", flags, ^uint64(0)<<p.c.Size()))
	}
	return nil
}
