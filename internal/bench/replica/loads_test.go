package replica

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/bench/program"
	store "github.com/craft-go/craft/storage/replica"
)

// loads measures loads of all data, without failures.
func (j *job) loads(ctx context.Context) error {
	var pieces []piece
	var all []int
	for r := range j.c.Size() {
		all = append(all, r)
		pieces = append(pieces, j.pieces(r, j.blocks())...)
	}
	for round := range j.rounds + 1 {
		l := assign(rand.New(rand.NewPCG(3, uint64(round))), pieces, len(all), all, j.block, nextBehind)
		if err := j.compare(ctx, round > 0, l, "load all", "plain sends of a load of all", "files, load of all"); err != nil {
			return err
		}
		if j.consecutive {
			own := []store.Range{j.of(int(j.c.Rank()))}
			took, err := j.timed(ctx, func() error { return j.load(ctx, own) })
			if err = errors.Join(err, j.verify(own)); err != nil {
				return err
			}
			if round > 0 {
				j.result.add("local load", took)
			}
		}
	}
	return nil
}

// harmed measures what follows a failure: the load of the data of the rank that has failed by the
// others, and the repair.
func (j *job) harmed(ctx context.Context, round int) error {
	p, failed := j.c.Size(), j.victim(round-1)
	var others []int
	for r := range p {
		if r != failed {
			others = append(others, r)
		}
	}
	share := max(j.blocks()/int64(4*len(others)), 1)
	l := assign(rand.New(rand.NewPCG(4, uint64(round))), j.pieces(failed, share), p, others, j.block, leastGiven)
	if _, err := j.plain(ctx, l.sends); err != nil { // makes the connections
		return err
	}
	before := j.store.Stats().Load
	if err := j.compare(ctx, true, l, "scattered load", "plain sends of a scattered load", "files, scattered load"); err != nil {
		return err
	}
	if err := j.countMessages(ctx, before, l); err != nil {
		return err
	}
	took, err := j.timed(ctx, func() error { return j.store.Repair(ctx) })
	j.result.add("repair", took)
	return err
}

// pieces are the blocks of a rank and who holds them, at most so many each.
func (j *job) pieces(owner int, most int64) (out []piece) {
	for _, r := range cut(j.of(owner), max(int64(j.rangeBytes/j.block), 1), most) {
		p := piece{blocks: r, owner: owner}
		for _, h := range j.store.Holders(r.Lo) {
			p.holders = append(p.holders, int(h))
		}
		out = append(out, p)
	}
	return out
}

// compare measures a load, of which there is something to send, beside plain sends and files, in turn.
func (j *job) compare(ctx context.Context, counts bool, l load, what, rival, files string) error {
	if len(l.sends) == 0 {
		return nil // everybody has everything
	}
	plain, err := j.plain(ctx, l.sends)
	if err != nil {
		return err
	}
	mine := l.wants[j.c.Rank()]
	clear(j.got)
	ours, err := j.timed(ctx, func() error { return j.load(ctx, mine) })
	if err = errors.Join(err, j.verify(mine)); err != nil {
		return err
	}
	if counts {
		j.result.versus(what, ours, rival, plain)
	}
	if j.path == "" {
		return nil
	}
	if err := j.evict(ctx); err != nil {
		return err
	}
	clear(j.got)
	read, err := j.timed(ctx, func() error { return j.read(mine) })
	if err = errors.Join(err, j.verify(mine)); err != nil {
		return err
	}
	if counts {
		j.result.add(files, read)
	}
	return nil
}

func (j *job) load(ctx context.Context, ranges []store.Range) error {
	_, err := j.store.Load(ctx, j.got[:0], ranges...)
	return err
}

// countMessages counts those of data of one load and the bytes in them, on the ranks that have sent and got
// most, and the ranges that a rank has asked for parts of at most: the paper's bound of what it gets.
func (j *job) countMessages(ctx context.Context, before store.Operations, l load) error {
	now := j.store.Stats().Load
	asked := make(map[int64]bool)
	for _, r := range l.wants[j.c.Rank()] {
		asked[r.Lo/max(int64(j.rangeBytes/j.block), 1)] = true
	}
	most := []int64{
		now.MessagesSent - before.MessagesSent, now.MessagesReceived - before.MessagesReceived, int64(len(asked)),
		now.BytesReceived - before.BytesReceived, length(l.wants[j.c.Rank()]) * int64(j.block),
	}
	if err := comm.Allreduce(ctx, j.c, most, most, comm.Max[int64]); err != nil {
		return err
	}
	for i, what := range []string{"messages sent", "messages received", "ranges asked for", "bytes received", "bytes asked for"} {
		j.result.Counts.Add(what, float64(most[i]))
	}
	return nil
}

// victim is the rank that fails after a round: one after the other, but not the one that prints.
func (j *job) victim(round int) int { return 1 + round%(j.c.Size()-1) }

// fail kills a rank. What follows is left to the zone.
func (j *job) fail(ctx context.Context, round int) error {
	pids, err := program.Processes(ctx, j.c)
	if err != nil {
		return err
	}
	return program.Kill(ctx, j.c, pids, j.victim(round))
}
