package commtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/craft-go/craft/aft/comm"
)

var failSpawnTrials = []faultTrial{
	{"spawn/one", fromTwo, spawnOne},
	{"spawn/several, again and again", fromTwo, spawnAgain},
	{"spawn/all but one", fromTwo, spawnMost},
	{"spawn/bad arguments", fromTwo, spawnBad},
	{"spawn/survivor dies meanwhile", fromThree, spawnDying},
}

// skipUnsupported ends the trial with ErrSkip at ErrUnsupported.
func skipUnsupported(err error) {
	if errors.Is(err, comm.ErrUnsupported) {
		check(fmt.Errorf("%w: the engine does not support Spawn", ErrSkip))
	}
}

// missing are the original ranks that members do not have.
func missing(n int, members []comm.Rank) []comm.OriginalRank {
	var out []comm.OriginalRank
	for r := range comm.Rank(n) {
		if !slices.Contains(members, r) {
			out = append(out, comm.OriginalRank(r))
		}
	}
	return out
}

// rebuild replaces all of the n ranks that are missing in c.
func (p *player) rebuild(ctx context.Context, c *comm.Comm, n int) (*comm.Comm, error) {
	s := settle(ctx, c)
	members := must(p.members(ctx, s))
	made, err := s.Spawn(ctx, missing(n, members))
	skipUnsupported(err)
	return made, err
}

// join checks a communicator of the old size, in which everybody has the old
// rank, and takes leave on it. round is how often it was rebuilt, 0 for those who
// do not know.
func (p *player) join(ctx context.Context, c *comm.Comm, round int) (int, error) {
	p.end = c
	if err := p.isMadeOf(ctx, c, others(c)); err != nil {
		return 0, fmt.Errorf("communicator with replacements: %w", err)
	}
	round, err := comm.AllreduceOne(ctx, c, round, comm.Max)
	return round, first(err, meet(ctx, c))
}

// spawnRounds kills some ranks and replaces them, the given number of times.
func (p *player) spawnRounds(ctx context.Context, rounds int, victims func(round int) []comm.Rank) error {
	n, c, round := p.c.Size(), p.c, 0
	if p.f.Replacement() {
		round = must(p.join(ctx, c, 0))
	}
	for round < rounds {
		dead := victims(round)
		if p.isOneOf(dead) {
			p.f.Die()
		}
		c = must(p.rebuild(ctx, c, n))
		round = must(p.join(ctx, c, round+1))
	}
	return nil
}

func spawnOne(ctx context.Context, p *player) error {
	victim := p.choose()
	return p.spawnRounds(ctx, 1, func(int) []comm.Rank { return []comm.Rank{victim} })
}

// spawnAgain kills others in each round, who may be replacements.
func spawnAgain(ctx context.Context, p *player) error {
	n := p.c.Size()
	var rounds [3][]comm.Rank
	for i := range rounds {
		rounds[i] = pick(p.same, n, 1+p.same.IntN(n-1))
	}
	return p.spawnRounds(ctx, len(rounds), func(round int) []comm.Rank { return rounds[round] })
}

func spawnMost(ctx context.Context, p *player) error {
	survivor := p.choose()
	return p.spawnRounds(ctx, 1, func(int) []comm.Rank { return others(p.c, survivor) })
}

// spawnBad: a revoked communicator, one with a dead rank, ranks that are alive or
// do not exist. No process is started.
func spawnBad(ctx context.Context, p *player) error {
	if p.f.Replacement() {
		return errors.New("a replacement was started")
	}
	n := p.c.Size()
	victim := p.one(p.f.Die)
	absent := []comm.OriginalRank{comm.OriginalRank(victim)}
	check(await(ctx, p.c, victim))
	_, err := p.c.Spawn(ctx, absent)
	skipUnsupported(err)
	check(failed("spawn with a dead member", err, victim))
	s := settle(ctx, p.c)
	alive := comm.OriginalRank((victim + 1) % comm.Rank(n))
	for _, bad := range [][]comm.OriginalRank{{alive}, {absent[0], alive}, {absent[0], absent[0]}, {-1}, {comm.OriginalRank(n)}} {
		if made, err := s.Spawn(ctx, bad); err == nil || made != nil {
			return fmt.Errorf("spawn for original ranks %v, %d is missing: want an error", bad, victim)
		}
	}
	check(works(ctx, s), meet(ctx, s), s.Revoke())
	_, err = s.Spawn(ctx, absent)
	return wants(comm.ErrRevoked, "spawn on a revoked communicator", err)
}

// spawnDying: while ranks are replaced, a survivor dies; all the others get the
// same answer, and can start over.
func spawnDying(ctx context.Context, p *player) error {
	if p.f.Replacement() {
		return p.lastOnes(ctx, p.c)
	}
	firstDead, secondDead := p.two()
	if p.c.Rank() == firstDead {
		p.f.Die()
	}
	s := settle(ctx, p.c)
	if p.c.Rank() == secondDead {
		p.dieSoon()
	}
	made, err := s.Spawn(ctx, []comm.OriginalRank{comm.OriginalRank(firstDead)})
	skipUnsupported(err)
	switch {
	case p.c.Rank() == secondDead:
		return p.killed(ctx)
	case err == nil:
		return p.lastOnes(ctx, made)
	}
	check(failed("spawn", err))
	return p.lastOnes(ctx, must(p.rebuild(ctx, s, p.c.Size())))
}

// lastOnes is the end of all that are alive.
func (p *player) lastOnes(ctx context.Context, c *comm.Comm) error {
	p.end = c
	return works(ctx, settle(ctx, c))
}
