package replica_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage/replica"
)

// patience gives a hanging test away; the machine may be busy.
const patience = 120 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// fill writes what a block of a version has in it.
func fill(block []byte, version int, id int64) {
	x := rand.NewPCG(uint64(version), uint64(id))
	for len(block) >= 8 {
		binary.LittleEndian.PutUint64(block, x.Uint64())
		block = block[8:]
	}
	for i := range block {
		block[i] = byte(version) + byte(id) + byte(i)
	}
}

// shape is what is submitted.
type shape struct {
	n    int64
	size int // 0: sizes of their own
	by   int // how it is submitted: 0 Data, 1 Fill
	cuts []int64
}

func (sh shape) sizeOf(id int64) int {
	if sh.size > 0 {
		return sh.size
	}
	return int(id*7919%97) * int(id%2)
}

func (sh shape) content(version int, id int64) []byte {
	b := make([]byte, sh.sizeOf(id))
	fill(b, version, id)
	return b
}

// blocks are those of one rank of some.
func (sh shape) blocks(version, ranks, rank int) replica.Blocks {
	share := replica.Even(sh.n, ranks, rank)
	if sh.cuts != nil && len(sh.cuts) == ranks+1 {
		share = replica.Range{Lo: sh.cuts[rank], Hi: sh.cuts[rank+1]}
	}
	b := replica.Blocks{N: sh.n, Size: sh.size, First: share.Lo}
	if sh.by == 1 {
		b.Count = share.Len()
		b.SizeOf = sh.sizeOf
		b.Fill = func(id int64, block []byte) error {
			fill(block, version, id)
			return nil
		}
		return b
	}
	if sh.size == 0 {
		b.Offsets = []int64{0}
	}
	for id := share.Lo; id < share.Hi; id++ {
		b.Data = append(b.Data, sh.content(version, id)...)
		if sh.size == 0 {
			b.Offsets = append(b.Offsets, int64(len(b.Data)))
		}
	}
	return b
}

// check compares loaded blocks with a version; those in lost are not there.
func (sh shape) check(version int, got replica.Loaded, ranges []replica.Range, lost []replica.Range) error {
	i := 0
	for _, r := range ranges {
		for id := r.Lo; id < r.Hi; id++ {
			want := sh.content(version, id)
			if within(lost, id) {
				clear(want)
				if sh.size == 0 {
					want = nil
				}
			}
			if i >= got.Len() {
				return fmt.Errorf("%d blocks came, block %d is missing", got.Len(), id)
			}
			if string(got.Block(i)) != string(want) {
				return fmt.Errorf("block %d of version %d is not what was submitted", id, version)
			}
			i++
		}
	}
	if got.Len() != i {
		return fmt.Errorf("%d blocks came, %d were asked for", got.Len(), i)
	}
	return nil
}

func within(ranges []replica.Range, id int64) bool {
	for _, r := range ranges {
		if r.Lo <= id && id < r.Hi {
			return true
		}
	}
	return false
}

// draw is a random shape for some ranks.
func draw(rng *rand.Rand, ranks int) shape {
	sh := shape{n: 1 + rng.Int64N(400), size: []int{0, 1, 8, 64, 1000, 40_000}[rng.IntN(6)], by: rng.IntN(2)}
	if sh.size == 40_000 {
		sh.n = 1 + rng.Int64N(40)
	}
	if rng.IntN(3) == 0 { // unevenly, some ranks have nothing
		sh.cuts = []int64{0}
		for range ranks - 1 {
			sh.cuts = append(sh.cuts, sh.cuts[len(sh.cuts)-1]+rng.Int64N(sh.n-sh.cuts[len(sh.cuts)-1]+1))
		}
		sh.cuts = append(sh.cuts, sh.n)
	}
	return sh
}

func drawOptions(rng *rand.Rand, copies int) replica.Options {
	return replica.Options{
		Copies: copies, RangeBytes: []int{1, 100, 3000, 100_000}[rng.IntN(4)], Consecutive: rng.IntN(2) == 0,
		Probe: replica.Probe(rng.IntN(2)), Seed: rng.Uint64(), SharedNodes: true, Log: quiet,
	}
}

// rounds are fewer with -short, where each takes longer.
func rounds(n int) int {
	if testing.Short() {
		return n / 4
	}
	return n
}

// requests are random ranges for each rank.
func requests(rng *rand.Rand, n int64, ranks int) [][]replica.Range {
	out := make([][]replica.Range, ranks)
	for r := range out {
		for range rng.IntN(4) {
			lo := rng.Int64N(n)
			out[r] = append(out[r], replica.Range{Lo: lo, Hi: lo + rng.Int64N(min(n-lo, 100)+1)})
		}
	}
	return out
}

// TestSubmitAndLoad: blocks of any number and sizes come back on any rank, in both request modes, on
// ranks on nodes of any sizes.
func TestSubmitAndLoad(t *testing.T) {
	rng := testseed.Rand(t)
	for range rounds(60) {
		ranks := 1 + rng.IntN(9)
		cluster := &afttest.Cluster{Nodes: rng.IntN(ranks + 1)}
		sh, o := draw(rng, ranks), drawOptions(rng, 1+rng.IntN(min(ranks, 4)))
		asked := [][][]replica.Range{requests(rng, sh.n, ranks), requests(rng, sh.n, ranks)}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := cluster.Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
			c := r.Comm()
			me := int(c.Rank())
			s, err := replica.Open(ctx, c, "test", o)
			if err != nil {
				return err
			}
			for version := 1; version <= 2; version++ {
				if err := s.Submit(ctx, sh.blocks(version, ranks, me)); err != nil {
					return err
				}
				mine := asked[version-1]
				got, err := s.Load(ctx, nil, mine[me]...)
				if err = errors.Join(err, sh.check(version, got, mine[me], nil)); err != nil {
					return err
				}
				got, err = s.LoadAll(ctx, nil, mine)
				if err = errors.Join(err, sh.check(version, got, mine[me], nil)); err != nil {
					return err
				}
			}
			return nil
		})
		cancel()
		require.NoError(t, err, "%+v %+v, %d ranks on %d nodes", sh, o, ranks, cluster.Nodes)
	}
}

// TestFailuresShortOfALoss: whoever fails, and whether it is replaced or not, every block comes back while
// fewer ranks fail at once than there are copies, and Repair makes up for each failure.
func TestFailuresShortOfALoss(t *testing.T) {
	rng := testseed.Rand(t)
	for range rounds(25) {
		ranks := 3 + rng.IntN(6)
		copies := 2 + rng.IntN(2)
		recovery := []comm.Recovery{comm.Shrinking, comm.NonShrinking}[rng.IntN(2)]
		sh, o := draw(rng, ranks), drawOptions(rng, copies)
		order := rng.Perm(ranks)
		deaths := min(ranks/(copies-1)-1, 3)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		cluster := &afttest.Cluster{}
		err := cluster.Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
			return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
				c := z.Comm()
				s, err := replica.Open(ctx, c, "test", o)
				if err != nil {
					return err
				}
				if s.Version() == 0 {
					if err := s.Submit(ctx, sh.blocks(1, c.Size(), int(c.Rank()))); err != nil {
						return err
					}
				}
				if err := loadEverything(ctx, s, c, sh, 1); err != nil {
					return err
				}
				if err := s.Repair(ctx); err != nil {
					return err
				}
				if st := s.Stats(); st.Missing > 0 && c.Size() >= copies {
					return fmt.Errorf("%d copies are missing after Repair", st.Missing)
				}
				if err := loadEverything(ctx, s, c, sh, 1); err != nil {
					return err
				}
				if z.Epoch() < deaths {
					for _, victim := range order[z.Epoch()*(copies-1):][:copies-1] {
						if int(z.Original()) == victim {
							r.Die()
						}
					}
					return comm.Barrier(ctx, c)
				}
				return nil
			}, aft.WithLogger(quiet), aft.WithRecovery(recovery))
		})
		cancel()
		require.NoError(t, err, "%+v %+v, %d ranks, %v, %v", sh, o, ranks, recovery, order)
	}
}

// loadEverything loads all blocks, each rank a share and one more range.
func loadEverything(ctx context.Context, s *replica.Store, c *comm.Comm, sh shape, version int) error {
	mine := []replica.Range{replica.Even(sh.n, c.Size(), (int(c.Rank())+1)%c.Size()), {Lo: 0, Hi: min(sh.n, 3)}}
	got, err := s.Load(ctx, nil, mine...)
	if err != nil {
		return err
	}
	return sh.check(version, got, mine, nil)
}

// TestLoss: when all holders of some blocks fail at once, exactly these are lost, the same ones on all
// ranks, and the rest goes on.
func TestLoss(t *testing.T) {
	rng := testseed.Rand(t)
	for range 20 {
		const ranks = 6
		sh, o := draw(rng, ranks), drawOptions(rng, 2)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		var lost atomic.Value
		err := new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
			return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
				c := z.Comm()
				s, err := replica.Open(ctx, c, "test", o)
				if err != nil {
					return err
				}
				if z.Epoch() == 0 {
					if err := s.Submit(ctx, sh.blocks(1, c.Size(), int(c.Rank()))); err != nil {
						return err
					}
					if err := comm.Barrier(ctx, c); err != nil {
						return err
					}
					if c.Rank() == 0 { // places i and i + 6/2; no repair goes on without this rank
						r.Kill(1)
						r.Kill(4)
					}
					return comm.Barrier(ctx, c)
				}
				for range 2 {
					all := []replica.Range{{Lo: 0, Hi: sh.n}}
					got, err := s.Load(ctx, nil, all...)
					var gone *replica.LostError
					if errors.As(err, &gone) {
						err = nil
						lost.Store(gone.Ranges)
						if fmt.Sprint(gone.Ranges) != fmt.Sprint(s.Lost()) {
							return fmt.Errorf("lost are %v, and Load says %v", s.Lost(), gone.Ranges)
						}
					}
					if err = errors.Join(err, sh.check(1, got, all, s.Lost())); err != nil {
						return err
					}
					if err := s.Repair(ctx); err != nil {
						return err
					}
				}
				return s.Submit(ctx, sh.blocks(2, c.Size(), int(c.Rank())))
			}, aft.WithLogger(quiet), aft.WithRecovery(comm.Shrinking))
		})
		cancel()
		require.NoError(t, err, "%+v %+v", sh, o)
		if o.Consecutive && sh.cuts == nil && sh.n >= ranks {
			require.Equal(t, []replica.Range{replica.Even(sh.n, ranks, 1), replica.Even(sh.n, ranks, 4)}, lost.Load())
		}
	}
}

// TestLoadBehindOther: what was in dst before is not taken for a block.
func TestLoadBehindOther(t *testing.T) {
	for _, size := range []int{0, 8} {
		sh := shape{n: 10, size: size}
		inJob(t, 2, sh, replica.Options{Log: quiet}, func(ctx context.Context, _ *afttest.Rank, s *replica.Store) error {
			asked := []replica.Range{{Lo: 3, Hi: 7}}
			before := []byte("what is there")
			got, err := s.Load(ctx, append(make([]byte, 0, 1000), before...), asked...)
			if err != nil {
				return err
			}
			if string(got.Data[:len(before)]) != string(before) {
				return fmt.Errorf("before is %q", got.Data[:len(before)])
			}
			return sh.check(1, got, asked, nil)
		})
	}
}
