package replica_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage/replica"
)

// inJob runs a body on ranks that have a store of some blocks.
func inJob(t *testing.T, ranks int, sh shape, o replica.Options, body func(ctx context.Context, r *afttest.Rank, s *replica.Store) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := new(afttest.Cluster).Run(ctx, ranks, func(ctx context.Context, r *afttest.Rank) error {
		s, err := replica.Open(ctx, r.Comm(), "test", o)
		if err != nil {
			return err
		}
		if err := s.Submit(ctx, sh.blocks(1, ranks, int(r.Comm().Rank()))); err != nil {
			return err
		}
		return body(ctx, r, s)
	})
	require.NoError(t, err, "%+v %+v", sh, o)
}

// TestFlippedBits: a bit that flips in any copy is found when that is loaded, repaired or scrubbed, another
// copy is taken, and the damaged one made anew.
func TestFlippedBits(t *testing.T) { flippedBits(t) }

func flippedBits(t *testing.T) {
	t.Helper()
	rng := testseed.Rand(t)
	for round := range 80 {
		ranks := 3 + rng.IntN(5)
		sh, o := draw(rng, ranks), drawOptions(rng, 2+rng.IntN(2))
		victim, seed := comm.Rank(rng.IntN(ranks)), rng.Uint64()
		var flipped atomic.Bool
		inJob(t, ranks, sh, o, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
			c := r.Comm()
			if c.Rank() == victim {
				_, ok := s.Flip(rand.New(rand.NewPCG(seed, 1)))
				flipped.Store(ok)
			}
			if err := comm.Barrier(ctx, c); err != nil {
				return err
			}
			var err error
			switch round % 4 {
			case 0: // whoever has a copy reads it: the victim does
				all := []replica.Range{{Lo: 0, Hi: sh.n}}
				var got replica.Loaded
				got, err = s.Load(ctx, nil, all...)
				err = errors.Join(err, sh.check(1, got, all, nil))
			case 1:
				_, err = s.Scrub(ctx, []int{0, 1 << 30}[round%2])
				err = errors.Join(err, s.Repair(ctx))
			case 2:
				if c.Rank() == victim && flipped.Load() {
					var damaged int
					if damaged, err = s.Scrub(ctx, 0); damaged != 1 {
						err = fmt.Errorf("%d copies are damaged: %w", damaged, err)
					}
				}
				lists := make([][]replica.Range, ranks)
				lists[0] = []replica.Range{{Lo: 0, Hi: sh.n}}
				var got replica.Loaded
				got, err2 := s.LoadAll(ctx, nil, lists)
				err = errors.Join(err, err2, sh.check(1, got, lists[c.Rank()], nil), s.Repair(ctx))
			case 3: // who has the copy does not look at it; others may
				lists := make([][]replica.Range, ranks)
				for i := range lists {
					if comm.Rank(i) != victim {
						lists[i] = []replica.Range{{Lo: 0, Hi: sh.n}}
					}
				}
				for range 2 {
					var got replica.Loaded
					got, err2 := s.Load(ctx, nil, lists[c.Rank()]...)
					err = errors.Join(err, err2, sh.check(1, got, lists[c.Rank()], nil))
				}
				_, err2 := s.Scrub(ctx, 0)
				err = errors.Join(err, err2, s.Repair(ctx))
			}
			if err != nil {
				return err
			}
			if copies, good := s.Intact(); copies != good {
				return fmt.Errorf("%d of %d copies are not good", copies-good, copies)
			}
			if st := s.Stats(); c.Rank() == victim && flipped.Load() && (st.Damaged != 1 || st.Mended != 1) {
				return fmt.Errorf("%d damaged, %d mended", st.Damaged, st.Mended)
			}
			return nil
		})
	}
}

// TestAllCopiesDamaged: blocks of which no copy is good are lost, with an error that lists them; the
// others come.
func TestAllCopiesDamaged(t *testing.T) {
	const ranks = 4
	sh := shape{n: 40, size: 64}
	o := replica.Options{Copies: 2, RangeBytes: 64 * 5, Consecutive: true, Log: quiet}
	inJob(t, ranks, sh, o, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
		s.Spoil(7) // everybody who has it
		if err := comm.Barrier(ctx, r.Comm()); err != nil {
			return err
		}
		all := []replica.Range{{Lo: 0, Hi: sh.n}}
		for range 2 {
			got, err := s.Load(ctx, nil, all...)
			var lost *replica.LostError
			if !errors.As(err, &lost) || fmt.Sprint(lost.Ranges) != "[5-9]" {
				return fmt.Errorf("lost: %w", err)
			}
			if err := sh.check(1, got, all, lost.Ranges); err != nil {
				return err
			}
			if err := s.Repair(ctx); err != nil {
				return err
			}
			if fmt.Sprint(s.Lost()) != "[5-9]" {
				return fmt.Errorf("rank %d: lost are %v after Repair", r.Comm().Rank(), s.Lost())
			}
			if err := s.Rebalance(ctx); !errors.As(err, &lost) || fmt.Sprint(lost.Ranges) != "[5-9]" {
				return fmt.Errorf("rebalance: %w", err)
			}
		}
		return s.Submit(ctx, sh.blocks(2, ranks, int(r.Comm().Rank())))
	})
}

// TestBadInput: what cannot be is an error on all ranks that says what is allowed, and the store goes on.
func TestBadInput(t *testing.T) {
	const ranks = 3
	sh := shape{n: 30, size: 8}
	ctxErr := errors.New("not today")
	for name, bad := range map[string]struct {
		call func(ctx context.Context, s *replica.Store, b replica.Blocks) error
		is   error
		says string
	}{
		"block size": {func(ctx context.Context, s *replica.Store, b replica.Blocks) error {
			b.Data = b.Data[:len(b.Data)-1]
			return s.Submit(ctx, b)
		}, replica.ErrBlocks, "blocks of 8 bytes do not divide"},
		"different n": {func(ctx context.Context, s *replica.Store, b replica.Blocks) error {
			b.N++
			return s.Submit(ctx, b)
		}, replica.ErrBlocks, "N is 30 on rank 0 and 31 on rank 1"},
		"different size": {func(ctx context.Context, s *replica.Store, b replica.Blocks) error {
			b.Size = 4
			b.First = 0
			return s.Submit(ctx, b)
		}, replica.ErrBlocks, "Size is 8 on rank 0 and 4 on rank 1"},
		"overlap": {func(ctx context.Context, s *replica.Store, b replica.Blocks) error {
			b.First--
			return s.Submit(ctx, b)
		}, replica.ErrBlocks, "each block is submitted by one rank"},
		"serializer": {func(ctx context.Context, s *replica.Store, b replica.Blocks) error {
			b.Data, b.Count = nil, 10
			b.Fill = func(id int64, _ []byte) error { return fmt.Errorf("%w: %d", ctxErr, id) }
			return s.Submit(ctx, b)
		}, ctxErr, "block 10 is not serialized"},
	} {
		inJob(t, ranks, sh, replica.Options{Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
			b := sh.blocks(2, ranks, int(r.Comm().Rank()))
			var err error
			if r.Comm().Rank() == 1 {
				if err = bad.call(ctx, s, b); !errors.Is(err, bad.is) || !strings.Contains(err.Error(), bad.says) {
					return fmt.Errorf("%s: %w", name, err)
				}
			} else if err = s.Submit(ctx, b); err == nil {
				return fmt.Errorf("%s: no error on rank %d", name, r.Comm().Rank())
			}
			all := []replica.Range{{Lo: 0, Hi: sh.n}}
			got, err := s.Load(ctx, nil, all...)
			return errors.Join(err, sh.check(1, got, all, nil))
		})
	}
}
