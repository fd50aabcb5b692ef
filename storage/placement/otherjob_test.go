package placement_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/placement"
)

// TestPlaceOfAnotherJob: jobs that see different directories under one path, as in
// containers, are not told apart by the lock of that directory. Here they share one node
// of two: no rank of the second one goes on.
func TestPlaceOfAnotherJob(t *testing.T) {
	dir := t.TempDir()
	policy, err := storage.ParsePolicy("local")
	require.NoError(t, err)
	open := func(ctx context.Context, c *comm.Comm, job string, node int, patience time.Duration) (*placement.Placement, error) {
		files, err := filestore.New(filestore.Config{Path: filepath.Join(dir, "pfs"), Name: "cp", Sync: filestore.SyncNone})
		if err != nil {
			return nil, err
		}
		return placement.Open(ctx, placement.Config{
			Comm: c, Name: "cp", Home: files, Dir: files.Dir(), Policy: policy, Root: filepath.Join(dir, fmt.Sprint("node", node)),
			Sync: filestore.SyncNone, Job: job, Patience: patience,
		})
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "pfs", "cp"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pfs", "cp", manifest.Name), []byte(`{"format": 1, "id": "0123456789abcdef"}`), 0o600))
	const long = 5 * time.Minute
	jobOf := func(job string, patience time.Duration, nodes [2]int, body func(*placement.Placement, error) error) error {
		return afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
			s, err := open(ctx, c, job, nodes[c.Rank()], patience)
			if err := body(s, err); err != nil {
				return fmt.Errorf("job %s, rank %d: %w", job, c.Rank(), err)
			}
			if err := comm.Barrier(ctx, c); err != nil || s == nil {
				return err
			}
			return s.Close(ctx)
		})
	}
	fine := func(_ *placement.Placement, err error) error { return err }
	refused := func(_ *placement.Placement, err error) error {
		if !errors.Is(err, storage.ErrLocked) || errors.Is(err, placement.ErrConfig) {
			return fmt.Errorf("want that it is locked, got: %w", err)
		}
		for _, want := range []string{"rank 1 on host", filepath.Join(dir, "node1", "cp-"), "CRAFT_NODE_PATH"} {
			if !strings.Contains(err.Error(), want) {
				return fmt.Errorf("%q is not in: %w", want, err)
			}
		}
		return nil
	}
	require.NoError(t, jobOf("first", long, [2]int{0, 1}, func(s *placement.Placement, err error) error {
		if err != nil || !strings.HasSuffix(string(s.Nodes()[0].Dir), "node0") || s.Comm().Rank() != 0 {
			return err
		}
		return errors.Join(
			jobOf("second", 20*time.Millisecond, [2]int{7, 1}, refused),
			jobOf("second", long, [2]int{7, 8}, fine), // what it had of a node that is free is free again
			jobOf("first", long, [2]int{1, 0}, fine),  // a later epoch: nobody has closed the placement of this one
		)
	}))
	require.NoError(t, jobOf("second", long, [2]int{0, 1}, fine))
}
