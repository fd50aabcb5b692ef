package commtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/craft-go/craft/aft/comm"
)

// sparse: random ranks send to random ones, call after call, some late: nothing of one call
// is taken for another one's.
func sparse(ctx context.Context, c *comm.Comm) error {
	n := comm.Rank(c.Size())
	for round := range uint64(25) {
		random := rand.New(rand.NewPCG(round, uint64(n))) // the same at all ranks
		lengths := make(map[[2]comm.Rank]int)
		for s := range n {
			for range random.IntN(4) {
				lengths[[2]comm.Rank{s, comm.Rank(random.IntN(int(n)))}] = random.IntN(3) * random.IntN(400)
			}
		}
		parts := make(map[comm.Rank][]float64)
		for pair, length := range lengths {
			if pair[0] == c.Rank() {
				parts[pair[1]] = sample(pair[0]*n+pair[1], length)
			}
		}
		got, err := comm.SparseAlltoallv(ctx, c, parts)
		check(err)
		for pair, length := range lengths {
			if pair[1] == c.Rank() {
				part, ok := got[pair[0]]
				check(equal("there is a part", ok, true),
					equalSlices(fmt.Sprintf("part of rank %d", pair[0]), part, sample(pair[0]*n+pair[1], length)))
				delete(got, pair[0])
			}
		}
		check(equal("parts that nobody has sent", len(got), 0))
	}
	return nil
}

// sparseRefused: a rank that asks for one that does not exist sends nothing, and the others
// are told: they do not take what has come for all there is.
func sparseRefused(ctx context.Context, c *comm.Comm) error {
	wrong := comm.Rank(c.Size() / 2)
	parts := map[comm.Rank][]byte{right(c): {1}}
	want := comm.ErrTruncated
	if c.Rank() == wrong {
		parts[comm.Rank(c.Size())] = nil
		want = comm.ErrRank
	}
	got, err := comm.SparseAlltoallv(ctx, c, parts)
	if !errors.Is(err, want) {
		return fmt.Errorf("a part for a rank that does not exist: got error %w, want %v", orNone(err), want)
	}
	return first(equal("parts", len(got), 0), works(ctx, c))
}
