package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// A version that has healed is as safe as it was, and the job that has healed it
// says so.
func TestHealedVersionIsSafeAgain(t *testing.T) {
	n := newTestNodes(t, 0, 0, 1, 1, 2, 2)
	n.job(t, "partner", 3, none)
	n.lose(t, 1)
	level := func(want storage.Level) func(ctx context.Context, g *grid) error {
		return func(ctx context.Context, g *grid) error {
			err := healed(ctx, g)
			if v, _ := asStored(g, 3); err == nil && g.c.Rank() == 0 && v.Level != storage.LevelsOf(want) {
				err = fmt.Errorf("version 3 is at level %v, not %v", v.Level, want)
			}
			return errors.Join(err, comm.Barrier(ctx, g.c))
		}
	}
	log := n.job(t, "partner", 3, level(storage.Partner))
	require.Contains(t, log, "redundancy is back")
	require.NotRegexp(t, ` rank=.* rank=`, log, "an attribute twice")
	require.NotContains(t, n.job(t, "partner", 3, level(storage.Partner)), "redundancy is back")
}

// A version of a level that the next job does not have is healed with what it has,
// and what nothing protects is not called redundant.
func TestHealingWithOtherLevels(t *testing.T) {
	for _, c := range sample(t, []struct {
		first, second string
		lost          []int // of which the next loss would be too much
	}{
		{"partner", "xor", []int{1}}, // with the copy of rank 3
		{"partner", "rs", []int{1}},
		{"xor", "partner", []int{1}},
		{"rs", "xor", []int{1, 2}},
		{"partner", "local,xor:2", []int{1}},
	}, 1) {
		t.Run(c.first+" "+c.second, func(t *testing.T) {
			n := newTestNodes(t, 0, 1, 2, 3)
			n.job(t, c.first, 3, none)
			n.lose(t, c.lost...)
			require.Contains(t, n.job(t, c.second, 3, healed), "redundancy is back")
			n.lose(t, 3)
			require.Contains(t, n.job(t, c.second, 3, healed), "iteration=2")
			n.lose(t, 0)
			require.Contains(t, n.job(t, c.second, 3, none), "iteration=2")
		})
	}
	n := newTestNodes(t, 0, 1, 2, 3)
	n.job(t, "partner", 3, none)
	n.lose(t, 1)
	log := n.job(t, "local", 3, healed)
	require.Contains(t, log, "the part is on its node again")
	require.NotContains(t, log, "redundancy is back")
}
