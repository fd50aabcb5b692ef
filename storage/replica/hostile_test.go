package replica_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/replica"
)

// TestScrubWithinADeadline: a Scrub that has not looked at everything says so, also when the rest would take
// longer than its context lasts.
func TestScrubWithinADeadline(t *testing.T) {
	sh := shape{n: 100, size: 100}
	inJob(t, 2, sh, replica.Options{Log: quiet, RangeBytes: 100}, func(ctx context.Context, _ *afttest.Rank, s *replica.Store) error {
		ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		if _, err := s.Scrub(ctx, 1); err == nil {
			return errors.New("10,000 bytes at one a second were looked at within 0.3 s")
		}
		return nil
	})
}

// TestHoldersOfLostBlocks: nobody has a block all copies of which are damaged.
func TestHoldersOfLostBlocks(t *testing.T) {
	sh := shape{n: 40, size: 64}
	inJob(t, 4, sh, replica.Options{Consecutive: true, RangeBytes: 64 * 5, Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
		s.Spoil(7)
		if _, err := s.Scrub(ctx, 0); err != nil {
			return err
		}
		if err := errors.Join(comm.Barrier(ctx, r.Comm()), s.Repair(ctx)); err != nil {
			return err
		}
		if held := s.Holders(7); len(s.Lost()) == 0 || len(held) > 0 {
			return fmt.Errorf("lost are %v, and %v have block 7", s.Lost(), held)
		}
		return nil
	})
}

// TestOtherStoreOnARank: ranks that open different stores in one call do not mix these.
func TestOtherStoreOnARank(t *testing.T) {
	sh := shape{n: 40, size: 64}
	err := new(afttest.Cluster).Run(t.Context(), 4, func(ctx context.Context, r *afttest.Rank) error {
		me := int(r.Comm().Rank())
		names := []string{"a", "b"}
		for i, name := range names {
			s, err := replica.Open(ctx, r.Comm(), name, replica.Options{Log: quiet})
			if err != nil {
				return err
			}
			if err := s.Submit(ctx, sh.blocks(i+1, 4, me)); err != nil {
				return err
			}
		}
		s, err := replica.Open(ctx, r.Comm(), names[me%2], replica.Options{Log: quiet})
		if errors.Is(err, replica.ErrOptions) {
			return nil
		} else if err != nil {
			return err
		}
		return loadVersion(ctx, s, sh, 1+me%2)
	})
	require.NoError(t, err)
}

// TestOtherGrid: a box of a grid that was not submitted is an error.
func TestOtherGrid(t *testing.T) {
	g := replica.Grid{Rows: 8, Cols: 8, Elem: 8, TileRows: 2, TileCols: 2, RankRows: 1, RankCols: 2}
	err := new(afttest.Cluster).Run(t.Context(), 2, func(ctx context.Context, r *afttest.Rank) error {
		me := int(r.Comm().Rank())
		s, err := replica.Open(ctx, r.Comm(), "grid", replica.Options{Log: quiet})
		if err != nil {
			return err
		}
		own := g.Own(me)
		b, err := g.Blocks(me, make([]byte, own.Rows.Len()*own.Cols.Len()*8))
		if err != nil {
			return err
		}
		if err := s.Submit(ctx, b); err != nil {
			return err
		}
		other := g
		other.Elem = 16
		box := replica.Box{Rows: replica.Range{Hi: 8}, Cols: replica.Range{Hi: 8}}
		if err := s.LoadBox(ctx, other, box, make([]byte, 8*8*16)); !errors.Is(err, replica.ErrRange) {
			return fmt.Errorf("another element: %w", err)
		}
		return nil
	})
	require.NoError(t, err)
}
