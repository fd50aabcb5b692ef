package offline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/offline"
)

const ranks, nodes = 8, 4

// job is one of eight ranks on four nodes that writes a version and ends, or goes on from it.
type job struct {
	base, nodes string
	on          func(rank int) int // the node of a rank
}

func (j job) dir() string       { return filepath.Join(j.base, "c") }
func (j job) node(i int) string { return filepath.Join(j.nodes, fmt.Sprintf("node-%d", i)) }

func together(rank int) int { return rank / 2 }
func apart(rank int) int    { return rank % nodes }

// bytesOf are so many that each of the others in a set has parity of them.
func bytesOf(rank int) []byte {
	b := make([]byte, 1<<20+rank)
	_, _ = rand.NewChaCha8([32]byte{byte(rank)}).Read(b) // never fails
	return b
}

// healed tells of each rank whose part, and what protects it, is back.
type healed struct {
	slog.Handler

	tell chan struct{}
}

func (h healed) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "redundancy is back" {
		h.tell <- struct{}{}
	}
	return nil
}
func (h healed) Enabled(context.Context, slog.Level) bool { return true }
func (h healed) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h healed) WithGroup(string) slog.Handler            { return h }

// run writes the version, or waits until heals ranks have healed it.
func (j job) run(t *testing.T, level storage.Level, heals int) {
	t.Helper()
	log := slog.New(healed{tell: make(chan struct{}, ranks)})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := afttest.Run(ctx, ranks, func(ctx context.Context, c *comm.Comm) error {
		rank := int(c.Rank())
		cp, err := checkpoint.New("c", c, checkpoint.WithPath(j.base), checkpoint.WithSync(checkpoint.SyncNone), checkpoint.WithLogger(log),
			checkpoint.WithLevels(level.Every(1)), checkpoint.WithNodePath(j.node(j.on(rank))))
		if err != nil {
			return err
		}
		data := bytesOf(rank)
		err = errors.Join(cp.Add("data", &data), cp.Commit())
		if err == nil {
			err = cp.RestartIfNeeded(ctx, nil)
		}
		if err == nil && heals == 0 {
			err = cp.UpdateAndWrite(ctx, 0, 1)
		}
		if c.Rank() == 0 {
			for i := 0; err == nil && i < heals; i++ {
				select {
				case <-log.Handler().(healed).tell:
				case <-ctx.Done():
					err = ctx.Err()
				}
			}
		}
		return errors.Join(err, comm.Barrier(ctx, c), cp.Close())
	})
	require.NoError(t, err)
}

// parts are the files of the version, as they are had from outside of the job.
func (j job) parts(t *testing.T) (all [][]byte) {
	t.Helper()
	c, err := offline.Open(t.Context(), vfs.OS(), j.dir())
	require.NoError(t, err)
	list, err := c.Versions(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.True(t, list[0].Complete(), list[0].State())
	for rank := range ranks {
		r, err := c.Store.Open(t.Context(), list[0].ID, storage.Part{Rank: rank, Size: ranks})
		require.NoError(t, err)
		data, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
		require.NoError(t, err)
		require.NoError(t, r.Close())
		all = append(all, data)
	}
	return all
}

// Where ranks have moved, nodes have parity of the sets of before and of those of after under
// one name. Each rebuilds what it is of, whatever node is lost then, or with rs whichever two.
func TestPartsOfMovedRanks(t *testing.T) {
	for _, level := range []storage.Level{storage.XOR, storage.RS} {
		root := t.TempDir()
		j := job{filepath.Join(root, "cp"), filepath.Join(root, "nodes"), together}
		j.run(t, level, 0)
		want := j.parts(t)
		j.on = apart
		j.run(t, level, ranks)
		require.Equal(t, want, j.parts(t))
		for first := range nodes {
			for second := range nodes {
				if level == storage.XOR && second != first {
					continue
				}
				t.Run(fmt.Sprint(level, " ", first, " ", second), func(t *testing.T) {
					for _, lost := range slices.Compact([]int{first, second}) {
						aside := filepath.Join(t.TempDir(), "lost")
						require.NoError(t, os.Rename(j.node(lost), aside))
						t.Cleanup(func() { require.NoError(t, os.Rename(aside, j.node(lost))) })
					}
					got := j.parts(t)
					for rank := range ranks {
						require.Equal(t, want[rank], got[rank], "part of rank %d", rank)
					}
				})
			}
		}
	}
}
