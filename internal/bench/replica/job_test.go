package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	store "github.com/craft-go/craft/storage/replica"
)

// job is one rank's part. What it has measured outlives the attempts.
type job struct {
	config
	result *result
	print  bool

	c      *comm.Comm
	store  *store.Store
	data   []byte // that this rank submits
	got    []byte // that it loads
	memory memory // of plain transfers
}

func newJob(c config) *job { return &job{config: c, result: new(result)} }

// body is an attempt: the first one measures what goes without failures, and each further one
// what follows a failure. Each ends with the next failure.
func (j *job) body(ctx context.Context, z *aft.Zone) (err error) {
	j.c = z.Comm()
	j.print = j.c.Rank() == 0
	if j.data == nil {
		j.data = make([]byte, j.size)
		fill(j.data, int64(j.c.Rank())*j.blocks(), j.block)
		j.got = make([]byte, 2*j.size)
	}
	if j.store, err = store.Open(ctx, j.c, "bench", store.Options{
		Copies: j.copies, RangeBytes: j.rangeBytes, Consecutive: j.consecutive, NoDirect: j.messages, Seed: 1, Log: slog.New(slog.DiscardHandler),
	}); err != nil {
		return err
	}
	if round := z.Epoch(); round == 0 {
		err = j.unharmed(ctx)
	} else {
		err = j.harmed(ctx, round)
	}
	if err != nil || j.what != "all" || z.Epoch() >= j.rounds || j.c.Size() < 2 {
		return err
	}
	z.Step(z.Epoch())
	return j.fail(ctx, z.Epoch())
}

// unharmed measures what goes without failures.
func (j *job) unharmed(ctx context.Context) error {
	first, err := j.timed(ctx, func() error { return j.submit(ctx) })
	if err != nil {
		return err
	}
	j.result.add("first submit", first)
	if j.what == "first" {
		return nil
	}
	err = j.submits(ctx)
	j.result.Counts.Add("bytes written to other ranks", float64(j.store.Stats().Submit.BytesDirect))
	if err != nil || j.what == "submits" {
		return err
	}
	return errors.Join(j.writeFile(ctx), j.loads(ctx))
}

// blocks are those of each rank.
func (j *job) blocks() int64 { return int64(j.size / j.block) }

// of are the blocks that a rank submits.
func (j *job) of(rank int) store.Range {
	return store.Range{Lo: int64(rank) * j.blocks(), Hi: int64(rank+1) * j.blocks()}
}

func (j *job) submit(ctx context.Context) error {
	return j.store.Submit(ctx, store.Blocks{
		N: j.blocks() * int64(j.c.Size()), Size: j.block, First: j.of(int(j.c.Rank())).Lo, Data: j.data,
	})
}

// submits measures versions in turn with plain sends. The first ones touch memory.
func (j *job) submits(ctx context.Context) error {
	p := j.submitPlan()
	for round := range j.rounds + 2 {
		plain, err := j.plain(ctx, p)
		if err != nil {
			return err
		}
		ours, err := j.timed(ctx, func() error { return j.submit(ctx) })
		if err != nil {
			return err
		}
		switch round {
		case 0:
			j.result.add("second submit", ours)
		case 1:
		default:
			j.result.versus("submit", ours, "plain sends of a submit", plain)
		}
	}
	return nil
}

func (j *job) submitPlan() plan {
	if j.consecutive {
		return submitPlan(j.c.Size(), j.copies, j.size)
	}
	return permutedPlan(rand.New(rand.NewPCG(1, 2)), j.c.Size(), j.copies, j.size, j.rangeBytes)
}

// verify compares what was loaded with what was submitted.
func (j *job) verify(ranges []store.Range) error {
	at := 0
	for _, r := range ranges {
		n := int(r.Len()) * j.block
		if err := check(j.got[at:at+n], r.Lo, j.block); err != nil {
			return fmt.Errorf("rank %d: %w", j.c.Rank(), err)
		}
		at += n
	}
	return nil
}
