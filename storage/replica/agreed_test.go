package replica_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/storage/replica"
)

// TestBadInputAgrees: what one rank has given and cannot be is the same kind of error on all ranks, each of which says what is
// wrong or which rank has given it, and the store goes on.
func TestBadInputAgrees(t *testing.T) {
	const ranks = 3
	grid := replica.Grid{Rows: 30, Cols: 8, Elem: 1, TileRows: 1, TileCols: 8, RankRows: ranks, RankCols: 1}
	sh := shape{n: 30, size: 8}
	submit := func(change func(b *replica.Blocks)) func(ctx context.Context, s *replica.Store, me int) error {
		return func(ctx context.Context, s *replica.Store, me int) error {
			b := sh.blocks(2, ranks, me)
			if me == 1 {
				change(&b)
			}
			return s.Submit(ctx, b)
		}
	}
	load := func(run func(ctx context.Context, s *replica.Store, lo, hi int64) error) func(ctx context.Context, s *replica.Store, me int) error {
		return func(ctx context.Context, s *replica.Store, me int) error {
			if me == 1 {
				return run(ctx, s, 28, 31)
			}
			return run(ctx, s, 3, 7)
		}
	}
	for name, bad := range map[string]struct {
		call func(ctx context.Context, s *replica.Store, me int) error
		is   error
	}{
		"size":      {submit(func(b *replica.Blocks) { b.Data = b.Data[1:] }), replica.ErrBlocks},
		"n":         {submit(func(b *replica.Blocks) { b.N = 31 }), replica.ErrBlocks},
		"number":    {submit(func(b *replica.Blocks) { b.First = 29 }), replica.ErrBlocks},
		"no blocks": {submit(func(b *replica.Blocks) { *b = replica.Blocks{} }), replica.ErrBlocks},
		"load": {load(func(ctx context.Context, s *replica.Store, lo, hi int64) error {
			_, err := s.Load(ctx, nil, replica.Range{Lo: lo, Hi: hi})
			return err
		}), replica.ErrRange},
		"load all": {load(func(ctx context.Context, s *replica.Store, lo, hi int64) error {
			_, err := s.LoadAll(ctx, nil, [][]replica.Range{{{Lo: lo, Hi: hi}}, nil, nil})
			return err
		}), replica.ErrRange},
		"box": {load(func(ctx context.Context, s *replica.Store, lo, hi int64) error {
			return s.LoadBox(ctx, grid, replica.Box{Rows: replica.Range{Lo: lo, Hi: hi}, Cols: replica.Range{Hi: 8}}, make([]byte, 8*(hi-lo)))
		}), replica.ErrRange},
	} {
		inJob(t, ranks, sh, replica.Options{Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
			me := int(r.Comm().Rank())
			if err := bad.call(ctx, s, me); !errors.Is(err, bad.is) || me != 1 && !strings.Contains(err.Error(), "rank 1") {
				return fmt.Errorf("%s, rank %d: %w", name, me, err)
			}
			return loadVersion(ctx, s, sh, 1)
		})
	}
}
