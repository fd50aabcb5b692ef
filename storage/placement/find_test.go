package placement_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage/placement"
)

// TestNodesBeforeHome: of a version that is also on the parallel file system
// nothing is read from there as long as the nodes that are left have it.
func TestNodesBeforeHome(t *testing.T) {
	for policy, lost := range map[string][]int{"partner,pfs": {1}, "xor,pfs": {1}, "rs,pfs": {1, 3}} {
		t.Run(policy, func(t *testing.T) {
			c := newCluster(t, 0, 0, 1, 1, 2, 2, 3, 3)
			c.job(t, policy, func(ctx context.Context, s *placement.Placement) error {
				if err := write(ctx, s, 1); err != nil {
					return err
				}
				return s.Flush(ctx, idOf(1))
			})
			c.lose(t, lost...)
			restart := func() int64 {
				c.homeReads.Store(0)
				c.job(t, policy, func(ctx context.Context, s *placement.Placement) error { return check(ctx, s, 1, 8) })
				return c.homeReads.Load()
			}
			require.EqualValues(t, 1, restart(), "the survey looks at one header")
			c.lose(t, 0, 1, 2)
			require.Greater(t, restart(), int64(1))
		})
	}
}

// TestWrongParityAndHome: what parity does not give back comes from the parallel
// file system.
func TestWrongParityAndHome(t *testing.T) {
	c := newCluster(t, 0, 0, 1, 1, 2, 2, 3, 3)
	c.job(t, "xor,pfs", func(ctx context.Context, s *placement.Placement) error {
		if err := write(ctx, s, 1); err != nil {
			return err
		}
		return s.Flush(ctx, idOf(1))
	})
	c.lose(t, 1)
	spoiled := 0
	require.NoError(t, filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(d.Name(), "parity") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i := len(data) / 4; i < len(data)*3/4; i++ {
			data[i] ^= 0x55
		}
		spoiled++
		return os.WriteFile(path, data, 0o600)
	}))
	require.Equal(t, 6, spoiled)
	c.job(t, "xor,pfs", func(ctx context.Context, s *placement.Placement) error { return check(ctx, s, 1, 8) })
}

// After healing a rank reads its part from its own node: nothing else is needed.
func TestOwnFileAfterHealing(t *testing.T) {
	c := newCluster(t, 0, 0, 1, 1)
	c.job(t, "partner", func(ctx context.Context, s *placement.Placement) error { return write(ctx, s, 1) })
	c.lose(t, 1)
	c.job(t, "partner", func(ctx context.Context, s *placement.Placement) error {
		s.Heal(idOf(1))
		s.Healed()
		if err := comm.Barrier(ctx, s.Comm()); err != nil {
			return err
		}
		if s.Comm().Rank() == 0 {
			copies, err := filepath.Glob(filepath.Join(c.node(0), "cp-*", idOf(1).String(), "copy-*"))
			if err == nil && len(copies) != 2 {
				err = fmt.Errorf("copies %v", copies)
			}
			for _, path := range copies {
				err = errors.Join(err, os.Remove(path))
			}
			if err != nil {
				return err
			}
		}
		if err := comm.Barrier(ctx, s.Comm()); err != nil {
			return err
		}
		return errors.Join(s.Flush(ctx, idOf(1)), comm.Barrier(ctx, s.Comm()))
	})
}
