package replica_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage/replica"
)

// scattered is a job of which one rank fails, and whose others load its data, each a share.
type scattered struct {
	ranks, copies, failed int
	perRange, perRank     int64 // blocks
	options               replica.Options
	shape                 shape

	// what a survivor has counted, in the order of their ranks
	received, sent, bytesReceived, bytesSent []int64
	asked                                    []int64 // ranges of which a survivor has asked for blocks
	sets                                     []int64 // of other ranks that hold these
	pieces                                   []int64 // of ranges that some survivor asks for, by holder
}

// newScattered has ranges as the paper has them (VI-B2): 64 on each rank.
func newScattered(rng *rand.Rand, consecutive bool) *scattered {
	s := &scattered{ranks: 6 + rng.IntN(19), copies: 2 + rng.IntN(3), perRange: 4, perRank: 4 * 64}
	s.failed = rng.IntN(s.ranks)
	s.shape = shape{n: int64(s.ranks) * s.perRank, size: 64}
	s.options = replica.Options{Copies: s.copies, RangeBytes: int(s.perRange) * s.shape.size, Consecutive: consecutive, Seed: rng.Uint64(), Log: quiet}
	return s
}

func (s *scattered) body(ctx context.Context, r *afttest.Rank) error {
	return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
		c := z.Comm()
		store, err := replica.Open(ctx, c, "test", s.options)
		if err != nil {
			return err
		}
		if z.Epoch() > 0 {
			return s.load(ctx, store, c)
		}
		if err := store.Submit(ctx, s.shape.blocks(1, s.ranks, int(c.Rank()))); err != nil {
			return err
		}
		if _, err := c.Agree(ctx, 1); err != nil {
			return err
		}
		if int(c.Rank()) == s.failed {
			r.Die()
		}
		return comm.Barrier(ctx, c)
	}, aft.WithLogger(quiet), aft.WithRecovery(comm.Shrinking))
}

// load has each survivor load its share of what has failed, and counts.
func (s *scattered) load(ctx context.Context, store *replica.Store, c *comm.Comm) error {
	lost := replica.Even(s.shape.n, s.ranks, s.failed)
	mine := replica.Split([]replica.Range{lost}, c.Size(), int(c.Rank()))
	got, err := store.Load(ctx, nil, mine...)
	if err = errors.Join(err, s.shape.check(1, got, mine, nil)); err != nil {
		return err
	}
	counted := store.Stats().Load
	numbers := []int64{counted.MessagesReceived, counted.MessagesSent, counted.BytesReceived, counted.BytesSent, 0, 0}
	pieces, sets := make([]int64, c.Size()), make(map[string]bool)
	for _, share := range mine {
		for q := share.Lo / s.perRange; q <= (share.Hi-1)/s.perRange; q++ {
			numbers[4]++
			holders := store.Holders(q * s.perRange)
			for _, h := range holders {
				pieces[h]++
			}
			if !slices.Contains(holders, c.Rank()) {
				sets[fmt.Sprint(holders)] = true
			}
		}
	}
	numbers[5] = int64(len(sets))
	if err := comm.Allreduce(ctx, c, pieces, pieces, comm.Sum[int64]); err != nil {
		return err
	}
	all := make([]int64, len(numbers)*c.Size())
	if err := comm.Allgather(ctx, c, numbers, all); err != nil || c.Rank() > 0 {
		return err
	}
	for n := range slices.Chunk(all, len(numbers)) {
		s.received, s.sent = append(s.received, n[0]), append(s.sent, n[1])
		s.bytesReceived, s.bytesSent = append(s.bytesReceived, n[2]), append(s.bytesSent, n[3])
		s.asked, s.sets = append(s.asked, n[4]), append(s.sets, n[5])
	}
	s.pieces = pieces
	return nil
}

// TestScatteredLoadCounted: what ranks send and receive when the others load the data of one that has failed, as
// Stats has counted it, is within what the paper says (IV-A, IV-B).
func TestScatteredLoadCounted(t *testing.T) {
	rng := testseed.Rand(t)
	for round := range rounds(20) {
		consecutive := round%2 == 1
		s := newScattered(rng, consecutive)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := new(afttest.Cluster).Run(ctx, s.ranks, s.body)
		cancel()
		what := fmt.Sprintf("%d ranks, %d copies, consecutive %v, rank %d has failed, seed %d", s.ranks, s.copies, consecutive, s.failed, s.options.Seed)
		require.NoError(t, err, what)
		s.withinBounds(t, consecutive, what)
		t.Logf("%s: at most %d messages received, %d sent, %d bytes received, %d sent", what,
			slices.Max(s.received), slices.Max(s.sent), slices.Max(s.bytesReceived), slices.Max(s.bytesSent))
	}
}

func (s *scattered) withinBounds(t *testing.T, consecutive bool, what string) {
	survivors := int64(s.ranks - 1)
	// n/(p(p-1)) blocks of each receiver, and for each piece of a range a head.
	const head = 13
	share := (s.perRank + survivors - 1) / survivors
	var sent, received int64
	for r := range s.received {
		require.LessOrEqual(t, s.bytesReceived[r], share*int64(s.shape.size)+s.asked[r]*head, what)
		// From n/(p(p-1))/s_pr ranks, or one more, because a share need not begin where a range does.
		require.LessOrEqual(t, s.asked[r], (share+s.perRange-1)/s.perRange+1, what)
		// One rank serves all that the same ranks hold.
		require.LessOrEqual(t, s.received[r], min(s.sets[r], survivors-1), what)
		// Not more than one to each of the others, nor than it has pieces of ranges that are asked for.
		require.LessOrEqual(t, s.sent[r], min(s.pieces[r], survivors-1), what)
		if consecutive { // all ranges have the same holders: a receiver chooses one
			require.LessOrEqual(t, s.received[r], int64(1), what)
		}
		sent, received = sent+s.sent[r], received+s.received[r]
	}
	require.Equal(t, sent, received, what)
	require.Positive(t, sent, what)
	if consecutive { // the r-1 holders that are left send what the others have not: n/(p(r-1)) blocks each, and not all of it
		senders := 0
		for r := range s.sent {
			if s.sent[r] > 0 {
				senders++
			}
		}
		require.LessOrEqual(t, senders, s.copies-1, what)
		return
	}
	require.Less(t, slices.Max(s.bytesSent), s.perRank*int64(s.shape.size)/int64(s.copies-1), "%s: no better than without a permutation", what)
}
