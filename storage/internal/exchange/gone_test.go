package exchange

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
)

// acknowledging is a communicator on which something happens just before failures are
// acknowledged.
type acknowledging struct {
	driver.Comm
	driver.Failing
	before func()
}

func (a *acknowledging) Acknowledge() []int {
	a.before()
	return a.Failing.Acknowledge()
}

// Two ranks die at once: what is acknowledged with the first failure is not overlooked.
func TestFailureThatIsAcknowledgedWithAnother(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	over := make(chan struct{})
	require.NoError(t, new(afttest.Cluster).Run(ctx, 4, func(ctx context.Context, f *afttest.Rank) error {
		c := f.Comm()
		if c.Rank() != 0 { // the last one stays
			select {
			case <-over:
			case <-ctx.Done():
			}
			return nil
		}
		defer close(over)
		dies := func(victim comm.Rank) {
			f.Kill(comm.OriginalRank(victim))
			require.Eventually(t, func() bool { return slices.Contains(c.Failed(), victim) }, patience, time.Millisecond)
		}
		var once sync.Once
		s := New(ctx, comm.New(&acknowledging{f.Driver(), f.Driver().(driver.Failing), func() { once.Do(func() { dies(2) }) }}), &memory{}, small)
		gone := make(chan error, 1)
		stop := s.WhenGone(2, func(why error) { gone <- why })
		dies(1)
		select {
		case why := <-gone:
			require.ErrorIs(t, why, comm.ErrProcFailed)
		case <-ctx.Done():
			t.Error("nobody says that rank 2 has died")
		}
		stop()
		ended, end := context.WithCancel(ctx)
		end()
		_ = s.Close(ended)
		return nil
	}))
}

// However a rank goes, those that wait for what it gives are told.
func TestWhenGone(t *testing.T) {
	for name, goes := range map[string]func(ctx context.Context, s *Service, f *afttest.Rank){
		"it dies":   func(_ context.Context, _ *Service, f *afttest.Rank) { f.Die() },
		"it leaves": func(context.Context, *Service, *afttest.Rank) {},
		"it closes": func(ctx context.Context, s *Service, _ *afttest.Rank) { _ = s.Close(ctx) },
		"it closes at once": func(ctx context.Context, s *Service, _ *afttest.Rank) {
			ended, end := context.WithCancel(ctx)
			end()
			_ = s.Close(ended)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			asked := make(chan struct{})
			require.NoError(t, new(afttest.Cluster).Run(ctx, 3, func(ctx context.Context, f *afttest.Rank) error {
				c := f.Comm()
				own, end := context.WithCancel(ctx)
				defer end()
				s := New(own, c, &memory{}, small)
				if c.Rank() == 1 {
					<-asked
					goes(ctx, s, f)
					return nil
				}
				gone := make(chan struct{})
				stop := s.WhenGone(1, func(error) { close(gone) })
				s.WhenGone(c.Rank(), func(error) { t.Error("of itself") })()
				s.WhenGone(3, func(error) { t.Error("of a rank that is not there") })()
				if c.Rank() == 0 {
					close(asked)
				}
				select {
				case <-gone:
				case <-ctx.Done():
					t.Error("nobody says that the rank has gone")
				}
				stop()
				return s.Close(ctx)
			}))
		})
	}
}
