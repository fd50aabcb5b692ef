package placement_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/storagetest"
)

// Where ranks have moved, nodes have parity of the sets of before and of those of after
// under one name. The version survives the loss of any node as before.
func TestParityOfMovedRanks(t *testing.T) {
	some := testseed.Rand(t).IntN(faultyNodes)
	large := func(rank int) []byte { // in so many blocks that each of the others has parity of them
		return bytes.Repeat(smallValues(1, rank), 20)
	}
	for _, level := range storagetest.Protecting() {
		if level.Redundancy != storage.Parity {
			continue
		}
		nodes := []int{0, 1, 2, 3}
		if testing.Short() { // which one is lost changes who reads, and not how
			nodes = nodes[some:][:1]
		}
		for _, lost := range nodes {
			t.Run(fmt.Sprint(level, " ", lost), func(t *testing.T) {
				f := newFaulty(level.String())
				f.job(t, func(ctx context.Context, m *member) error {
					h, err := put(ctx, m.Placement, m.store, 1, large(m.rank()))
					_, agreed := m.agree(ctx, h, err)
					return agreed
				})
				f.placed = func(r comm.Rank) int { return int(r) % faultyNodes }
				f.job(t, func(ctx context.Context, m *member) error {
					if err := m.Gather(ctx, idOf(1)); err != nil {
						return err
					}
					m.Heal(idOf(1))
					m.Healed()
					return comm.Barrier(ctx, m.Comm())
				})
				f.lose(lost)
				f.job(t, func(ctx context.Context, m *member) error {
					if err := m.Gather(ctx, idOf(1)); err != nil {
						return err
					}
					data, err := read(ctx, m.store, 1, storage.Part{Rank: m.rank(), Size: faultyRanks})
					if err == nil && !bytes.Equal(data, large(m.rank())) {
						err = fmt.Errorf("part of rank %d is another one", m.rank())
					}
					return err
				})
			})
		}
	}
}
