package comm_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
)

const notice = 32 // bytes of a message that stands for data

// collective calls one with m float64 of each rank, on root 0 if it has one.
type collective func(ctx context.Context, c *comm.Comm, m int) error

func room(m int) []float64 { return make([]float64, m) }

// roomOnRoot is for the data of all ranks.
func roomOnRoot(c *comm.Comm, m int) []float64 {
	if c.Rank() != 0 {
		return nil
	}
	return room(m * c.Size())
}

func allreduceOf(order comm.Order) collective {
	return func(ctx context.Context, c *comm.Comm, m int) error {
		return comm.Allreduce(ctx, c, room(m), room(m), comm.Sum, order)
	}
}

func reduceOf(ctx context.Context, c *comm.Comm, m int) error {
	return comm.Reduce(ctx, c, 0, room(m), room(m), comm.Sum)
}

func bcastOf(ctx context.Context, c *comm.Comm, m int) error {
	return comm.Bcast(ctx, c, 0, room(m))
}

func gatherOf(ctx context.Context, c *comm.Comm, m int) error {
	return comm.Gather(ctx, c, 0, room(m), roomOnRoot(c, m))
}

func scatterOf(ctx context.Context, c *comm.Comm, m int) error {
	return comm.Scatter(ctx, c, 0, roomOnRoot(c, m), room(m))
}

func allgatherOf(ctx context.Context, c *comm.Comm, m int) error {
	return comm.Allgather(ctx, c, room(m), room(m*c.Size()))
}

// TestCost counts what each algorithm sends, with the numbers of the table in
// the package comment: it shows that the right one was chosen as well.
func TestCost(t *testing.T) {
	const s = 100      // short, in float64
	const l = 1 << 16  // long: 512 KiB
	const ll = 1 << 17 // a whole segment of reductions, four of broadcasts
	cases := []struct {
		name string
		call collective
		n, m int
		rank int // whose count it is
		want count
	}{
		{"Allreduce, dissemination", allreduceOf(comm.RankOrder), 8, s, 3, count{messages: 3, bytes: 7 * 8 * s}},
		{"Allreduce, blocks", allreduceOf(comm.RankOrder), 8, l, 3, count{messages: 3 + 2*7, bytes: 3*notice + 2*7*l}},
		{"Allreduce, doubling", allreduceOf(comm.AnyOrder), 8, s, 3, count{messages: 3, bytes: 3 * 8 * s}},
		{"Allreduce, doubling", allreduceOf(comm.AnyOrder), 16, s, 15, count{messages: 4, bytes: 4 * 8 * s}},
		{"Allreduce, guest", allreduceOf(comm.AnyOrder), 6, s, 1, count{messages: 1, bytes: 8 * s}},
		{"Allreduce, host", allreduceOf(comm.AnyOrder), 6, s, 2, count{messages: 3, bytes: 3 * 8 * s}},
		{"Allreduce, neither", allreduceOf(comm.AnyOrder), 6, s, 5, count{messages: 2, bytes: 2 * 8 * s}},
		{"Allreduce, eight are few", allreduceOf(comm.AnyOrder), 8, l, 3, count{messages: 3 + 2*7, bytes: 3*notice + 2*7*l}},
		{"Allreduce, halving", allreduceOf(comm.AnyOrder), 16, l, 9, count{messages: 4 + 2*4, bytes: 4*notice + 2*15*l/2}},
		{"Allreduce, no power of two", allreduceOf(comm.AnyOrder), 5, 5 * s * s, 4, count{messages: 2 + 2*4, bytes: 2*notice + 2*4*8*s*s}},
		{"Reduce, tree, root", reduceOf, 8, s, 0, count{received: 3, taken: 3 * 8 * s}},
		{"Reduce, tree", reduceOf, 8, s, 4, count{messages: 1, bytes: 8 * s, received: 2, taken: 2 * 8 * s}},
		{"Reduce, blocks, root", reduceOf, 8, ll, 0, count{messages: 3 + 7, bytes: 3*notice + 7*ll, received: 3 + 2*7, taken: 3*notice + 2*7*ll}},
		{"Reduce, blocks, leaf", reduceOf, 8, ll, 7, count{messages: 1 + 7 + 1, bytes: notice + 8*ll}},
		{"Bcast, tree, root", bcastOf, 8, s, 0, count{messages: 3, bytes: 3 * 8 * s}},
		{"Bcast, two segments", bcastOf, 8, l, 0, count{messages: 3 + 3*2, bytes: 3*notice + 3*8*l}},
		{"Bcast, chain, root", bcastOf, 8, ll, 0, count{messages: 3 + 4, bytes: 3*notice + 8*ll}},
		{"Bcast, chain", bcastOf, 8, ll, 5, count{messages: 4, bytes: 8 * ll, received: 1 + 4, taken: notice + 8*ll}},
		{"Gather, direct", gatherOf, 16, s, 0, count{received: 15, taken: 15 * 8 * s}},
		{"Gather, tree, root", gatherOf, 32, s, 0, count{received: 5, taken: 31 * 8 * s}},
		{"Gather, tree", gatherOf, 32, s, 24, count{messages: 1, bytes: 8 * 8 * s, received: 3, taken: 7 * 8 * s}},
		{"Gather, long, leaf", gatherOf, 32, l, 31, count{messages: 2, bytes: notice + 8*l, received: 1, taken: notice}},
		{"Scatter, direct", scatterOf, 16, s, 0, count{messages: 15, bytes: 15 * 8 * s}},
		{"Scatter, tree, root", scatterOf, 32, s, 0, count{messages: 5, bytes: 31 * 8 * s}},
		{"Scatter, tree", scatterOf, 32, s, 24, count{messages: 3, bytes: 7 * 8 * s, received: 1, taken: 8 * 8 * s}},
		{"Scatter, long, leaf", scatterOf, 32, l, 31, count{received: 2, taken: notice + 8*l}},
		{"Allgather, dissemination", allgatherOf, 8, s, 5, count{messages: 3, bytes: 7 * 8 * s}},
		{"Allgather, swap", allgatherOf, 8, l, 5, count{messages: 3 + 7, bytes: 3*notice + 7*8*l}},
		{"Allgather, ring", allgatherOf, 32, 1 << 14, 5, count{messages: 5 + 31, bytes: 5*notice + 31*8<<14}},
	}
	for _, tc := range cases {
		t.Run(fmt.Sprintf("%s/ranks=%d", tc.name, tc.n), func(t *testing.T) {
			p := &postroom{eager: 64 << 10}
			require.NoError(t, p.run(t.Context(), tc.n, func(ctx context.Context, c *comm.Comm) error {
				return tc.call(ctx, c, tc.m)
			}))
			got := p.counts[tc.rank]
			if tc.want.messages > 0 {
				require.Equal(t, tc.want.messages, got.messages, "messages sent")
				require.Equal(t, tc.want.bytes, got.bytes, "bytes sent")
			}
			if tc.want.received > 0 {
				require.Equal(t, tc.want.received, got.received, "messages received")
				require.Equal(t, tc.want.taken, got.taken, "bytes received")
			}
		})
	}
}

// TestSparseCost: what a rank sends depends on what it has to send, and hardly on how many
// ranks there are.
func TestSparseCost(t *testing.T) {
	for n, rounds := range map[int]int{4: 2, 32: 5} {
		p := &postroom{eager: 64 << 10}
		require.NoError(t, p.run(t.Context(), n, func(ctx context.Context, c *comm.Comm) error {
			next := (c.Rank() + 1) % comm.Rank(n)
			_, err := comm.SparseAlltoallv(ctx, c, map[comm.Rank][]float64{next: room(100)})
			return err
		}))
		require.Equal(t, 1+1+rounds, p.counts[2].messages, "its part, the answer to another, the barrier")
		require.Equal(t, 8+8*100, p.counts[2].bytes)
	}
}

// TestAllgatherChoosesTheRing in large groups: it sends as much as the other
// algorithm, but to the neighbours, beside those that it agrees with.
func TestAllgatherChoosesTheRing(t *testing.T) {
	for n, want := range map[int]int{16: 15, 32: 9} { // 9: at the distances 1, 2, 4, 8, 16
		p := &postroom{eager: 64 << 10}
		require.NoError(t, p.run(t.Context(), n, func(ctx context.Context, c *comm.Comm) error {
			return allgatherOf(ctx, c, 1<<14)
		}))
		require.Len(t, p.counts[5].peers, want, "%d ranks", n)
	}
}

// TestRingHasTwoNeighbours: the point of the ring is that it needs no more
// connections than those.
func TestRingHasTwoNeighbours(t *testing.T) {
	p := &postroom{eager: 64 << 10}
	require.NoError(t, p.run(t.Context(), 8, func(ctx context.Context, c *comm.Comm) error {
		return comm.AllgatherRing(ctx, c, room(100), room(800))
	}))
	for r, got := range p.counts {
		require.Equal(t, map[int]bool{(r + 1) % 8: true, (r + 7) % 8: true}, got.peers)
	}
}
