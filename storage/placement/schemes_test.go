package placement_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/placement"
)

// TestFewerNodesThanALevelNeeds: what is written then survives what the nodes
// that are left allow, and says so.
func TestFewerNodesThanALevelNeeds(t *testing.T) {
	for _, c := range []struct {
		policy string
		nodes  []int
		lost   int
		level  storage.Level
	}{
		{"rs", []int{0, 0, 0, 1, 1, 1, 2, 2}, 1, storage.XOR},
		{"rs", []int{0, 0, 0, 0, 1, 1, 1, 1}, 0, storage.XOR},
		{"rs", []int{0, 0, 0, 0, 0, 1, 1, 1}, 0, storage.Partner},
		{"xor", []int{0, 0, 0, 0, 0, 1, 1, 1}, 1, storage.Partner},
		{"local,rs", []int{0, 0, 0, 0, 0, 0, 0, 0}, -1, storage.Local},
	} {
		t.Run(fmt.Sprint(c.policy, c.nodes), func(t *testing.T) {
			cl := newCluster(t, c.nodes...)
			cl.job(t, c.policy, func(ctx context.Context, s *placement.Placement) error { return write(ctx, s, 1) })
			cl.job(t, c.policy, func(ctx context.Context, s *placement.Placement) error {
				if is := s.Kept(idOf(1)).Reached; is != at(c.level) {
					return fmt.Errorf("it is at level %v, not %v", is, c.level)
				}
				return nil
			})
			if c.lost >= 0 {
				cl.lose(t, c.lost)
			}
			cl.job(t, c.policy, func(ctx context.Context, s *placement.Placement) error { return check(ctx, s, 1, len(c.nodes)) })
		})
	}
}

// A level that is declared to survive more than what is made for it is refused, with words
// that say what to do: its versions would be believed to be where they are not.
func TestLevelThatPromisesTooMuch(t *testing.T) {
	survives := func(nodes, ofEachSet int) storage.Losses {
		return storage.Losses{Process: true, JobEnd: true, Nodes: nodes, OfEachSet: ofEachSet}
	}
	for _, c := range []struct {
		redundancy storage.Redundancy
		survives   storage.Losses
		most       string // nodes that may be lost of what would be made; "": it is made
	}{
		{storage.NoRedundancy, survives(0, 0), ""},
		{storage.NoRedundancy, survives(1, 0), "Nodes:0 "},
		{storage.Copies, survives(1, 0), ""},
		{storage.Copies, survives(2, 0), "Nodes:1 "},
		{storage.Copies, storage.Losses{Nodes: 1, Machines: true}, "Machines:false}"},
		{storage.Replicas, survives(2, 0), "Nodes:1 "},
		{storage.Parity, survives(1, 1), ""},
		{storage.Parity, survives(2, 1), "Nodes:1 "},
		{storage.Parity, survives(2, 2), ""},
		{storage.Parity, survives(math.MaxInt, 3), "Nodes:2 "},
	} {
		dir := t.TempDir()
		level := storage.Level{Name: "mirror", Tier: storage.TierNode, Redundancy: c.redundancy, Survives: c.survives}
		require.NoError(t, afttest.Run(t.Context(), 4, func(ctx context.Context, cm *comm.Comm) error {
			files, err := filestore.New(filestore.Config{Path: dir, Name: "cp", Sync: filestore.SyncNone})
			if err != nil {
				return err
			}
			s, err := placement.Open(ctx, placement.Config{
				Comm: cm, Name: "cp", Home: files, Dir: files.Dir(), Policy: storage.Policy{{Level: level, Every: 1}},
				Root: fmt.Sprint(dir, "/node", cm.Rank()), Sync: filestore.SyncNone,
			})
			if c.most == "" {
				require.NoError(t, err)
				return s.Close(ctx)
			}
			require.ErrorIs(t, err, placement.ErrConfig)
			_, made, _ := strings.Cut(err.Error(), "what is made for it here survives ")
			require.Contains(t, made, c.most)
			return nil
		}), "%+v", c)
	}
}
