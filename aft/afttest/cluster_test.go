package afttest_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

var quiet = aft.WithLogger(slog.New(slog.DiscardHandler))

func TestRanksAreOnNodesInBlocks(t *testing.T) {
	cluster := &afttest.Cluster{Nodes: 3, Spares: 2}
	var mu sync.Mutex
	nodes := make(map[comm.Rank]int)
	require.NoError(t, cluster.Run(t.Context(), 7, func(_ context.Context, r *afttest.Rank) error {
		mu.Lock()
		defer mu.Unlock()
		nodes[r.Comm().Rank()] = r.Node()
		require.Equal(t, []int{0, 0, 0, 1, 1, 2, 2}, r.Comm().Nodes())
		return nil
	}))
	require.Equal(t, map[comm.Rank]int{0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2}, nodes)
}

// Of ranks on nodes that nobody has named it is not said who shares one.
func TestNodesThatNobodyHasNamed(t *testing.T) {
	require.NoError(t, afttest.Run(t.Context(), 2, func(_ context.Context, c *comm.Comm) error {
		require.Nil(t, c.Nodes())
		return nil
	}))
	for _, cluster := range []*afttest.Cluster{{}, {Nodes: 1}, {Spares: 1}, {Slots: 2}} {
		require.NoError(t, cluster.Run(t.Context(), 2, func(_ context.Context, r *afttest.Rank) error {
			require.Equal(t, cluster.Nodes+cluster.Spares+cluster.Slots > 0, r.Comm().Nodes() != nil)
			return nil
		}))
	}
	require.Equal(t, []int{0}, comm.Self().Nodes())
}

// TestAKilledNode: its ranks fail, nobody else; its directory is gone; what takes their place is
// on a spare node.
func TestAKilledNode(t *testing.T) {
	var lost []int
	cluster := &afttest.Cluster{Nodes: 2, Spares: 1, Dir: t.TempDir(), OnLoss: func(node int) { lost = append(lost, node) }}
	was := cluster.NodeDir(1)
	var mu sync.Mutex
	homes := make(map[comm.OriginalRank][]string)
	require.NoError(t, cluster.Run(t.Context(), 4, func(ctx context.Context, r *afttest.Rank) error {
		return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			if err := os.WriteFile(filepath.Join(r.NodeDir(), "state"), nil, 0o600); err != nil {
				return err
			}
			if err := comm.Barrier(ctx, z.Comm()); err != nil {
				return err
			}
			if z.Epoch() == 0 {
				if z.Original() == 0 {
					r.KillNode(1)
					r.KillNode(1) // it is dead
				}
				return comm.Barrier(ctx, z.Comm())
			}
			if change, ok := z.Change(); ok {
				var failed []comm.OriginalRank
				for _, l := range change.Failed {
					failed = append(failed, l.Original)
					if l.Reason != "node lost: the node was killed" {
						return errors.New(l.Reason)
					}
				}
				if !slices.Equal(failed, []comm.OriginalRank{2, 3}) {
					return errors.New("the ranks of node 1 have failed, and nobody else")
				}
			}
			require.Equal(t, []int{0, 0, 2, 2}, z.Comm().Nodes())
			mu.Lock()
			defer mu.Unlock()
			homes[z.Original()] = append(homes[z.Original()], r.NodeDir())
			return nil
		}, quiet)
	}))
	require.Equal(t, []int{1}, lost)
	require.NoDirExists(t, was)
	zero, spare := cluster.NodeDir(0), cluster.NodeDir(2)
	require.Equal(t, map[comm.OriginalRank][]string{0: {zero}, 1: {zero}, 2: {spare}, 3: {spare}}, homes)
	require.NotEqual(t, was, cluster.NodeDir(1), "another machine")

	require.NoError(t, cluster.Run(t.Context(), 2, func(_ context.Context, r *afttest.Rank) error {
		entries, err := os.ReadDir(r.NodeDir())
		if err == nil && len(entries) != 1-r.Node() {
			err = errors.New("node 0 is what it was, node 1 is empty")
		}
		return err
	}))
	require.NoError(t, cluster.Replace(0))
	require.NoDirExists(t, zero)
	require.DirExists(t, cluster.NodeDir(0))
}

// TestNodesThatAreLostOneAfterTheOther: the root has replacements wait, and no time passes.
func TestNodesThatAreLostOneAfterTheOther(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		cluster := &afttest.Cluster{Nodes: 2, Spares: 4, Dir: dir}
		require.NoError(t, cluster.Run(t.Context(), 2, func(ctx context.Context, r *afttest.Rank) error {
			return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
				z.Step(0) // it does not get on
				if err := comm.Barrier(ctx, z.Comm()); err != nil {
					return err
				}
				if z.Original() == 1 && z.Epoch() < 4 {
					r.KillNode(r.Node())
				}
				return comm.Barrier(ctx, z.Comm())
			}, quiet)
		}))
		require.Equal(t, (0+1+2+4)*time.Second, time.Since(began))
	})
}

// TestAllNodesAreKilled: all are killed at once and there is nobody to go on, but the root.
func TestAllNodesAreKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &afttest.Cluster{Nodes: 2, Spares: 2}
		var attempts sync.Map
		require.NoError(t, cluster.Run(t.Context(), 4, func(ctx context.Context, r *afttest.Rank) error {
			return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
				if err := comm.Barrier(ctx, z.Comm()); err != nil {
					return err
				}
				if _, again := attempts.LoadOrStore(z.Original(), true); !again && z.Original() == 0 {
					r.KillNode(1)
					r.KillNode(0)
				}
				return comm.Barrier(ctx, z.Comm())
			}, quiet)
		}))
	})
}

// TestRankThatDies: with messages that it has sent, and without a word.
func TestRankThatDies(t *testing.T) {
	require.NoError(t, new(afttest.Cluster).Run(t.Context(), 2, func(ctx context.Context, r *afttest.Rank) error {
		c := r.Comm()
		if c.Rank() == 1 {
			if err := comm.Send(ctx, c, 0, 5, []int64{7}); err != nil {
				return err
			}
			r.Die()
		}
		got := make([]int64, 1)
		if _, _, err := comm.Recv(ctx, c, 1, 5, got); err != nil || got[0] != 7 {
			return errors.Join(err, errors.New("the message is lost"))
		}
		if _, _, err := comm.Recv(ctx, c, 1, 5, got); !errors.Is(err, comm.ErrProcFailed) {
			return errors.New("nobody has failed")
		}
		return nil
	}))
}

// TestLossThatNobodyRepairs is no error of the job: a test may be about just that.
func TestLossThatNobodyRepairs(t *testing.T) {
	for name, kill := range map[string]func(r *afttest.Rank){
		"rank": func(r *afttest.Rank) { r.Kill(1) },
		"node": func(r *afttest.Rank) { r.KillNode(1) },
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, (&afttest.Cluster{Nodes: 2}).Run(t.Context(), 2, func(ctx context.Context, r *afttest.Rank) error {
				if r.Comm().Rank() == 1 {
					<-ctx.Done()
					return context.Cause(ctx)
				}
				kill(r)
				if _, _, err := comm.Recv(ctx, r.Comm(), 1, 5, make([]byte, 1)); !errors.Is(err, comm.ErrProcFailed) {
					return errors.New("nobody has failed")
				}
				return nil
			}))
		})
	}
}

// TestOnLossThatPanics, as one that ends the test does: the node is dead all the same, and Run returns.
func TestOnLossThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &afttest.Cluster{Nodes: 2, OnLoss: func(int) { panic("no") }}
		require.Panics(t, func() {
			_ = cluster.Run(t.Context(), 2, func(ctx context.Context, r *afttest.Rank) error {
				if r.Comm().Rank() == 0 {
					r.KillNode(1)
				}
				return comm.Barrier(ctx, r.Comm())
			})
		})
	})
}

func TestMistakes(t *testing.T) {
	nothing := func(context.Context, *afttest.Rank) error { return nil }
	require.ErrorIs(t, (&afttest.Cluster{Nodes: -1}).Run(t.Context(), 1, nothing), afttest.ErrCluster)
	require.ErrorContains(t, new(afttest.Cluster).Run(t.Context(), 0, nothing), "0")
	require.ErrorContains(t, (&afttest.Cluster{Nodes: 2, Slots: 2}).Run(t.Context(), 5, nothing), "4")
	defer func() { require.ErrorContains(t, recover().(error), "KillNode(1): the cluster has the nodes 0 to 0") }()
	_ = new(afttest.Cluster).Run(t.Context(), 1, func(_ context.Context, r *afttest.Rank) error {
		r.KillNode(1)
		return nil
	})
}
