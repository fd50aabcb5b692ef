package archive_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/checkpoint/archive"
	"github.com/craft-go/craft/storage"
)

// Keys are those of all ranks; where a part cannot be read, that is said, and no key that it
// may hold is called unknown.
func TestKeysOfAllRanks(t *testing.T) {
	base := t.TempDir()
	require.NoError(t, afttest.Run(t.Context(), 3, func(ctx context.Context, c *comm.Comm) error {
		x, own := 1.5, []float64{float64(c.Rank()), 7}
		cp, err := checkpoint.New("c", c, checkpoint.WithPath(base))
		if err != nil {
			return err
		}
		defer cp.Close()
		return errors.Join(cp.Add("all", &x), cp.Add(fmt.Sprint("of ", c.Rank()), &own), cp.Commit(), cp.Write(ctx))
	}))
	open := func() *archive.Snapshot {
		a, err := archive.Open(t.Context(), filepath.Join(base, "c"))
		require.NoError(t, err)
		versions, err := a.Versions(t.Context())
		require.NoError(t, err)
		s, err := a.Snapshot(t.Context(), versions[0].ID)
		require.NoError(t, err)
		return s
	}
	names := func(s *archive.Snapshot) (out []string, err error) {
		keys, err := s.Keys(t.Context())
		for _, k := range keys {
			out = append(out, k.Name)
		}
		return out, err
	}
	s := open()
	all, err := names(s)
	require.NoError(t, err)
	require.Equal(t, []string{"all", "of 0", "of 1", "of 2"}, all)
	again, err := names(s)
	require.NoError(t, err)
	require.Equal(t, all, again)
	var x []float64
	require.NoError(t, s.Read(t.Context(), "of 2", 2, &x))
	require.Equal(t, []float64{2, 7}, x)
	_, _, err = archive.Array[float64](t.Context(), s, "of 2")
	require.ErrorContains(t, err, "it is not in the part of rank 0", "of a value that is not partitioned an array is that of rank 0")
	_, _, err = archive.Array[float64](t.Context(), s, "of 3")
	require.ErrorIs(t, err, archive.ErrKey)

	parts, err := filepath.Glob(filepath.Join(base, "c", "v-*", "rank-00002*"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(parts[0]))
	s = open()
	rest, err := names(s)
	require.Equal(t, all[:3], rest)
	require.ErrorIs(t, err, storage.ErrNotFound)
	_, _, err = archive.Array[float64](t.Context(), s, "of 2")
	require.ErrorIs(t, err, storage.ErrNotFound)
	require.NotErrorIs(t, err, archive.ErrKey)
}
