package replica_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/storage/replica"
)

// TestLoadOfTooMuch: a rank that asks for more than there is memory for is an error on all, before any is taken.
func TestLoadOfTooMuch(t *testing.T) {
	sh := shape{n: 1 << 14, size: 1 << 10}
	much := slices.Repeat([]replica.Range{{Lo: 0, Hi: sh.n}}, 1<<18) // 4 TiB
	inJob(t, 2, sh, replica.Options{Log: quiet}, func(ctx context.Context, r *afttest.Rank, s *replica.Store) error {
		asked := much
		if r.Comm().Rank() == 0 {
			asked = much[:1]
		}
		if _, err := s.Load(ctx, nil, asked...); !errors.Is(err, replica.ErrMemory) {
			return fmt.Errorf("4 TiB: %w", err)
		}
		if _, err := s.LoadAll(ctx, nil, [][]replica.Range{nil, much}); !errors.Is(err, replica.ErrMemory) {
			return fmt.Errorf("4 TiB, known to all: %w", err)
		}
		return loadVersion(ctx, s, sh, 1)
	})
}
