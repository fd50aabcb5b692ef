package placement_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/nodelocal"
	"github.com/craft-go/craft/storage/placement"
)

// Two machines see one network directory: no level is built, whoever signs it first, and all
// ranks get an error that names both.
func TestNodesOfOneNetworkDirectory(t *testing.T) {
	hosts := []string{"a", "b"}
	policy, err := storage.ParsePolicy("partner")
	require.NoError(t, err)
	for name, together := range map[string]bool{"one after the other": false, "at the same time": true} {
		t.Run(name, func(t *testing.T) {
			network, home := vfs.NewMem(), vfs.NewMem()
			var signing sync.WaitGroup
			signing.Add(len(hosts))
			both := vfs.WithErrors(network, func(op vfs.Op) error {
				if together && op.Kind == vfs.OpRename && filepath.Base(op.NewPath) == nodelocal.OwnerName {
					signing.Done() // each has found no signature
					signing.Wait()
				}
				return nil
			})
			require.NoError(t, (&afttest.Cluster{Nodes: 2}).Run(t.Context(), 2, func(ctx context.Context, r *afttest.Rank) error {
				files, err := filestore.New(filestore.Config{Path: "/pfs", Name: "cp", FS: home})
				if err != nil {
					return err
				}
				_, err = placement.Open(ctx, placement.Config{
					Comm: r.Comm(), Name: "cp", Home: files, Dir: files.Dir(), Policy: policy, Root: "/network", FS: both,
					Self: nodelocal.Identity{Host: hosts[r.Node()], Boot: hosts[r.Node()]},
				})
				require.ErrorIs(t, err, placement.ErrConfig)
				require.ErrorContains(t, err, "host a")
				require.ErrorContains(t, err, "host b")
				require.ErrorContains(t, err, "are on two nodes and store in one directory, /network")
				return nil
			}))
		})
	}
}
