package placement_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/craft-go/craft/storage"
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
