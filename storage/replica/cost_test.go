package replica

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	paperBytes = 16 << 20 // of a rank, in blocks of 64 bytes (VI-B2)
	paperRange = 256 << 10
)

func paperCosts(t *testing.T, w Workload) *Costs {
	t.Helper()
	w.Bytes, w.Seed = paperBytes, 1
	c, err := NewCosts(w, PaperNetwork())
	require.NoError(t, err)
	return c
}

// fullestBin bounds how many of some balls that are thrown at random fall into one of some bins: by
// more than that with a probability of 1e-6 at most, by the union of the binomial tails.
func fullestBin(balls, bins int) int {
	p, log := 1/float64(bins), func(x float64) float64 { return math.Log(max(x, 1e-300)) }
	tail := 0.0
	for b := balls; b > 0; b-- {
		tail += math.Exp(logChoose(balls, b) + float64(b)*log(p) + float64(balls-b)*log(1-p))
		if tail*float64(bins) > 1e-6 {
			return b
		}
	}
	return 0
}

// IV-A, IV-B: the bottleneck volumes and messages of a load of one rank's blocks, scattered.
func TestScatteredLoad(t *testing.T) {
	numbersAlone(t)
	const blocks, r = paperBytes / 64, 4
	for _, p := range []int{48, 384, 1536, 6144, 24_576} {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			// n/(p(p-1)) blocks of each receiver, and of how many senders these are.
			share := 64 * int64((blocks+p-2)/(p-1))
			for _, consecutive := range []bool{false, true} {
				c := paperCosts(t, Workload{Ranks: p, Copies: r, Consecutive: consecutive})
				load := c.LoadScattered(3)
				require.LessOrEqual(t, load.Received, share)
				require.GreaterOrEqual(t, load.Received, share-64)
				if consecutive { // n/(p r'), of the r' copies that are left
					sent := float64(fullestBin(p-1, r-1))
					require.LessOrEqual(t, load.Sent, int64(sent)*share)
					require.GreaterOrEqual(t, load.Sent, int64(paperBytes/(r-1))-share*r)
					require.Equal(t, int64(1), load.MessagesReceived)
					continue
				}
				// As many ranges fall into the set of holders that has most, each in pieces for some
				// receivers, of which each chooses one of the holders that are left.
				ranges := fullestBin(paperBytes/paperRange, p/r)
				pieces := ranges * (int(paperRange/share) + 2)
				bound := int64(fullestBin(pieces, r-1)) * min(share, paperRange)
				require.LessOrEqual(t, load.Sent, bound)
				require.Less(t, float64(bound), 24*max(paperRange, float64(paperBytes)/float64(p)), "the bound is none")
				t.Logf("sent %d, bound %d: %.2g and %.2g times the larger of a range and n/p²", load.Sent, bound,
					float64(load.Sent)/max(paperRange, float64(share)), float64(bound)/max(paperRange, float64(share)))
				require.LessOrEqual(t, load.MessagesReceived, share/paperRange+2)
				require.Less(t, load.Sent, int64(paperBytes/r/3), "no better than without a permutation")
			}
		})
	}
}

// IV-C: r*n/p blocks of each rank; submitting takes as many from each rank, and 64 ranges to
// as many sets of r ranks at most.
func TestSubmitVolume(t *testing.T) {
	numbersAlone(t)
	for _, p := range []int{48, 1536, 6144} {
		permuted, consecutive := paperCosts(t, Workload{Ranks: p, Copies: 4}), paperCosts(t, Workload{Ranks: p, Copies: 4, Consecutive: true})
		require.Equal(t, int64(4*paperBytes), permuted.Memory())
		require.Equal(t, int64(4*paperBytes), consecutive.Memory())
		with, without := permuted.Submit(), consecutive.Submit()
		require.LessOrEqual(t, with.Sent, int64(4*paperBytes))
		require.LessOrEqual(t, with.Received, int64(4*paperBytes))
		require.LessOrEqual(t, with.MessagesSent, min(int64(p-1), 64*4))
		require.Equal(t, int64(3*paperBytes), without.Sent) // the own copy stays
		require.Equal(t, int64(3), without.MessagesSent)
		require.Greater(t, with.Time, without.Time)
	}
}

// Repair takes what was on the rank that failed from the others of its group, which hold the
// same, and spreads it. Nothing else moves.
func TestRepairVolume(t *testing.T) {
	for _, p := range []int{48, 1536} {
		for _, consecutive := range []bool{false, true} {
			c := paperCosts(t, Workload{Ranks: p, Copies: 4, Consecutive: consecutive})
			repair := c.Repair(3)
			require.Equal(t, int64(4*paperBytes), repair.Bytes)
			require.GreaterOrEqual(t, repair.Sent, int64(4*paperBytes/3))
			require.Less(t, repair.Sent, int64(2*paperBytes))
			require.Less(t, repair.Time.Seconds(), 1.3*float64(repair.Sent)/PaperNetwork().RankBandwidth, "more is done than sent")
			require.LessOrEqual(t, repair.Received, int64(fullestBin(4*paperBytes/paperRange, p-4))*paperRange)
		}
	}
}

// A model of the counting: two messages between four ranks on two nodes.
func TestTally(t *testing.T) {
	n := Network{Latency: time.Millisecond, Piece: 10 * time.Millisecond, RankBandwidth: 1000, NodeBandwidth: 2000, RanksPerNode: 2}
	tr := newTally(4, n)
	for _, m := range []struct {
		from, to Seat
		bytes    int64
	}{{0, 1, 100}, {0, 3, 200}, {0, 3, 300}, {0, 0, 50}} {
		tr.move(m.from, m.to, m.bytes, tr.meets(m.from, m.to))
	}
	want := Cost{Bytes: 600, Messages: 2, Sent: 600, Received: 500, MessagesSent: 2, MessagesReceived: 1, NodeSent: 500, NodeReceived: 500}
	// Rank 0: bytes, 3 pieces, 2 messages and 4 of the end; its node.
	want.Time = 650*time.Millisecond + 30*time.Millisecond + 6*time.Millisecond + 250*time.Millisecond
	require.Equal(t, want, tr.cost(1))
	require.Equal(t, want.Time+6*time.Millisecond, tr.cost(2).Time)
}

func TestCostsRefuse(t *testing.T) {
	good := Workload{Ranks: 8, Copies: 2, Bytes: 1 << 20}
	for _, c := range []struct {
		change func(*Workload, *Network)
		says   string
	}{
		{func(w *Workload, _ *Network) { w.Ranks = 0 }, "0 ranks"}, {func(w *Workload, _ *Network) { w.Copies = 9 }, "9 copies of each block on 8 ranks"},
		{func(w *Workload, _ *Network) { w.Bytes = 63 }, "63 bytes in blocks of 64"}, {func(w *Workload, _ *Network) { w.RangeBytes = 32 }, "ranges of 32 bytes"},
		{func(_ *Workload, n *Network) { n.RankBandwidth = 0 }, "0 of a rank"[2:]}, {func(_ *Workload, n *Network) { n.RanksPerNode = 0 }, "0 ranks a node"},
	} {
		w, n := good, PaperNetwork()
		c.change(&w, &n)
		_, err := NewCosts(w, n)
		require.ErrorContains(t, err, c.says)
		require.ErrorIs(t, err, ErrOptions)
	}
}
