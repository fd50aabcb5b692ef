package replica_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage/replica"
)

// element is what the matrix has at a place.
func element(row, col int64) uint32 { return uint32(row*10_007 + col) }

func matrix(b replica.Box) (data []byte) {
	for row := b.Rows.Lo; row < b.Rows.Hi; row++ {
		for col := b.Cols.Lo; col < b.Cols.Hi; col++ {
			data = binary.LittleEndian.AppendUint32(data, element(row, col))
		}
	}
	return data
}

// TestGrid: any box of a matrix comes back, whatever its tiles and ranks.
func TestGrid(t *testing.T) {
	rng := testseed.Rand(t)
	for range 30 {
		g := replica.Grid{
			Rows: 1 + rng.Int64N(40), Cols: 1 + rng.Int64N(40), Elem: 4,
			TileRows: 1 + rng.Int64N(9), TileCols: 1 + rng.Int64N(9),
			RankRows: 1 + rng.IntN(3), RankCols: 1 + rng.IntN(3),
		}
		ranks := g.RankRows * g.RankCols
		require.NoError(t, g.Check(ranks))
		seed := rng.Uint64()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
			me := int(r.Comm().Rank())
			s, err := replica.Open(ctx, r.Comm(), "test", replica.Options{Copies: min(2, ranks), RangeBytes: 300, Log: quiet})
			if err != nil {
				return err
			}
			b, err := g.Blocks(me, matrix(g.Own(me)))
			if err := errors.Join(err, s.Submit(ctx, b)); err != nil {
				return err
			}
			rng := rand.New(rand.NewPCG(seed, uint64(me)))
			for range 5 {
				lo, left := rng.Int64N(g.Rows), rng.Int64N(g.Cols)
				box := replica.Box{
					Rows: replica.Range{Lo: lo, Hi: lo + rng.Int64N(g.Rows-lo+1)},
					Cols: replica.Range{Lo: left, Hi: left + rng.Int64N(g.Cols-left+1)},
				}
				want := matrix(box)
				got := make([]byte, len(want))
				if err := s.LoadBox(ctx, g, box, got); err != nil {
					return err
				}
				if string(got) != string(want) {
					return fmt.Errorf("%v is not what was submitted", box)
				}
			}
			return nil
		})
		cancel()
		require.NoError(t, err, "%+v", g)
	}
}

// TestGridAfterAFailure: any box comes back on those who are left, and on who has replaced one.
func TestGridAfterAFailure(t *testing.T) {
	g := replica.Grid{Rows: 37, Cols: 23, Elem: 4, TileRows: 4, TileCols: 5, RankRows: 2, RankCols: 2}
	for _, recovery := range []comm.Recovery{comm.Shrinking, comm.NonShrinking} {
		err := new(afttest.Cluster).Run(t.Context(), 4, func(ctx context.Context, r *afttest.Rank) error {
			return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
				c := z.Comm()
				s, err := replica.Open(ctx, c, "test", replica.Options{RangeBytes: 300, Log: quiet})
				if err != nil {
					return err
				}
				if z.Epoch() == 0 {
					b, err := g.Blocks(int(c.Rank()), matrix(g.Own(int(c.Rank()))))
					if err := errors.Join(err, s.Submit(ctx, b), comm.Barrier(ctx, c)); err != nil {
						return err
					}
					if c.Rank() == 2 {
						r.Die()
					}
					return comm.Barrier(ctx, c)
				}
				rows := replica.Even(g.Rows, c.Size(), int(c.Rank()))
				box := replica.Box{Rows: rows, Cols: replica.Range{Lo: 1, Hi: 22}}
				want := matrix(box)
				got := make([]byte, len(want))
				if err := errors.Join(s.LoadBox(ctx, g, box, got), s.Repair(ctx)); err != nil {
					return err
				}
				if string(got) != string(want) {
					return fmt.Errorf("rows %v are not what was submitted", rows)
				}
				return nil
			}, aft.WithLogger(quiet), aft.WithRecovery(recovery))
		})
		require.NoError(t, err, recovery)
	}
}

func TestGridRefuses(t *testing.T) {
	good := replica.Grid{Rows: 4, Cols: 4, Elem: 8, TileRows: 2, TileCols: 2, RankRows: 2, RankCols: 1}
	require.NoError(t, good.Check(2))
	for says, change := range map[string]func(g *replica.Grid){
		"2 x 2 ranks: their product must be the number of ranks, 2": func(g *replica.Grid) { g.RankCols = 2 },
		"0 x 4 elements":                   func(g *replica.Grid) { g.Rows = 0 },
		"tiles of 2 x 1000000000 elements": func(g *replica.Grid) { g.TileCols = 1e9 },
	} {
		g := good
		change(&g)
		require.ErrorIs(t, g.Check(2), replica.ErrBlocks)
		require.ErrorContains(t, g.Check(2), says)
	}
	_, err := good.Blocks(0, make([]byte, 7))
	require.ErrorContains(t, err, "rank 0 has given 7 bytes, its elements have 64")
}
