package placement_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"time"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/placement"
)

// A parallel file system may show a file to another machine a little later than it was
// written: that is waited for. If it never does, the version is not flushed, until
// another Flush finds it.
func TestFileIsSeenLate(t *testing.T) {
	for _, misses := range []int{1, 5, 1000} {
		t.Run(fmt.Sprint(misses), func(t *testing.T) {
			c := newCluster(t, 0, 0, 1, 1)
			var mu sync.Mutex
			looked, shown := 0, false
			c.homeFails = func(op vfs.Op) error {
				mu.Lock()
				defer mu.Unlock()
				if op.Kind != vfs.OpOpen || !isPart(op, 2) || shown {
					return nil
				}
				if looked++; looked <= misses {
					return fs.ErrNotExist
				}
				return nil
			}
			c.late = 20 * time.Millisecond
			c.job(t, "local,pfs", func(ctx context.Context, s *placement.Placement) error {
				if err := write(ctx, s, 1); err != nil {
					return err
				}
				err := s.Flush(ctx, idOf(1))
				var place *placement.PlaceError
				if lost := misses > 100 && s.Comm().Rank() == 2; errors.As(err, &place) != lost || !lost && err != nil {
					return fmt.Errorf("flush: %w", err)
				}
				if place != nil && (place.Rank != 2 || place.Dir != s.Dir()) {
					return fmt.Errorf("%+v", place)
				}
				if s.Comm().Rank() == 2 {
					mu.Lock()
					shown = true
					mu.Unlock()
				}
				return s.Flush(ctx, idOf(1))
			})
			if looked <= min(misses, 2) {
				t.Fatalf("it was looked for %d times", looked)
			}
			c.atHome(t, 1)
		})
	}
}
