package checkpoint

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
)

func TestLocalValueNeedsTheSameRanks(t *testing.T) {
	dir, _, _ := stored(t)
	err := afttest.Run(t.Context(), 3, func(ctx context.Context, c *comm.Comm) error {
		p := newProgram(t, c, true, WithPath(dir))
		defer p.cp.Close()
		return p.cp.RestartIfNeeded(ctx, &p.iter)
	})
	require.ErrorIs(t, err, ErrRanks)
	require.ErrorContains(t, err, `"mine"`)
	require.ErrorContains(t, err, "by 2 ranks, now there are 3")
}

func TestRanksMustAgree(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(p *program)
		text  string
	}{
		"replicated values differ": {func(p *program) { p.sums = append(p.sums, 1) }, `"sums"`},
		"iterations differ":        {func(p *program) { p.iter++ }, "out of step"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			errs := make([]error, 3)
			require.NoError(t, afttest.Run(t.Context(), 3, func(ctx context.Context, cm *comm.Comm) error {
				p := newProgram(t, cm, true, WithPath(dir))
				defer p.cp.Close()
				if err := p.run(ctx, 2, 1); err != nil {
					return err
				}
				if cm.Rank() == 1 {
					c.spoil(p)
				}
				errs[cm.Rank()] = p.cp.UpdateAndWrite(ctx, p.iter, 1)
				return nil
			}))
			for _, err := range errs {
				require.ErrorIs(t, err, ErrDisagree)
			}
			require.ErrorContains(t, errs[0], c.text)
			versions, err := filepath.Glob(filepath.Join(dir, "prog", "v-*"))
			require.NoError(t, err)
			require.Len(t, versions, 2, "the inconsistent version is gone")
		})
	}
	t.Run("not all have the replicated value", func(t *testing.T) {
		dir := t.TempDir()
		errs := make([]error, 2)
		_ = afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
			cp, err := New("keys", c, WithPath(dir))
			if err != nil {
				return err
			}
			defer cp.Close()
			v := 1
			if c.Rank() == 0 {
				_ = cp.Add("v", cptypes.Replicated(&v))
			} else {
				_ = cp.Add("w", &v)
			}
			if err := cp.Commit(); err != nil {
				return err
			}
			errs[c.Rank()] = cp.Write(ctx)
			return nil
		})
		for _, err := range errs {
			require.ErrorIs(t, err, ErrDisagree)
			require.ErrorContains(t, err, "rank 0 has 1 replicated values, rank 1 has 0")
		}
	})
	t.Run("other orders", func(t *testing.T) {
		for name, add := range map[string]func(cp *Checkpoint, key string, v *[]float64) error{
			"replicated": func(cp *Checkpoint, key string, v *[]float64) error {
				*v = append(*v, float64(len(key)))
				return cp.Add(key, cptypes.Replicated(v))
			},
			"partitioned": func(cp *Checkpoint, key string, v *[]float64) error {
				*v = []float64{1}
				rank := int(cp.comm.Rank())
				return cp.Add(key, cptypes.Partitioned(v, rank, rank+1, 3))
			},
		} {
			dir := t.TempDir()
			errs := make([]error, 3)
			require.NoError(t, afttest.Run(t.Context(), 3, func(ctx context.Context, c *comm.Comm) error {
				cp, err := New("order", c, WithPath(dir))
				if err != nil {
					return err
				}
				defer cp.Close()
				keys := []string{"a", "density", "energy of it", "z"}
				if c.Rank() == 2 {
					keys[1], keys[2] = keys[2], keys[1]
				}
				for _, key := range keys {
					if err := add(cp, key, new([]float64)); err != nil {
						return err
					}
				}
				if err := cp.Commit(); err != nil {
					return err
				}
				errs[c.Rank()] = cp.Write(ctx)
				return nil
			}), name)
			for _, err := range errs {
				require.ErrorIs(t, err, ErrDisagree, name)
				require.ErrorContains(t, err, `rank 0 has added "density", "energy of it", and rank 2 "energy of it", "density"`, name)
				require.ErrorContains(t, err, name)
			}
		}
	})
	t.Run("boxes leave a gap", func(t *testing.T) {
		dir := t.TempDir()
		err := afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
			cp, err := New("gap", c, WithPath(dir))
			if err != nil {
				return err
			}
			defer cp.Close()
			v := make([]float64, 4)
			lo := 5 * int(c.Rank())
			_ = cp.Add("v", cptypes.Partitioned(&v, lo, lo+4, 9))
			if err := cp.Commit(); err != nil {
				return err
			}
			return cp.Write(ctx)
		})
		require.ErrorIs(t, err, ErrDisagree)
		require.ErrorContains(t, err, `"v"`)
	})
}

// The same number of ranks with other boxes: the values are redistributed.
func TestOtherBoxesOnTheSameRanks(t *testing.T) {
	dir := t.TempDir()
	const n = 1000
	for round, border := range []int{300, 500, 0, n, 999} {
		require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
			lo, hi := 0, border
			if c.Rank() == 1 {
				lo, hi = border, n
			}
			v := make([]int, hi-lo)
			cp, err := New("boxes", c, WithPath(dir), WithLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				return err
			}
			defer cp.Close()
			_ = cp.Add("v", cptypes.Partitioned(&v, lo, hi, n))
			if err := cp.Commit(); err != nil {
				return err
			}
			if err := cp.RestartIfNeeded(ctx, nil); err != nil {
				return err
			}
			for i := range v {
				if round > 0 && v[i] != lo+i+round-1 {
					return fmt.Errorf("round %d: element %d is %d", round, lo+i, v[i])
				}
				v[i] = lo + i + round
			}
			return cp.Write(ctx)
		}))
	}
}
