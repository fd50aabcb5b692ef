package embedded

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
)

// TestReplacementStartsAtDetection: with such a policy survivors that wait for one another are
// rolled back though none of them has noticed the failure, and the replacement is started before
// one has joined the repair.
func TestReplacementStartsAtDetection(t *testing.T) {
	policy := driver.Policy{Recovery: driver.GlobalRestart, Spawn: driver.Reuse}

	const ranks = 3
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := newInprocCluster(ctx, InprocConfig{Ranks: ranks})
	require.NoError(t, err)
	replaced := make(chan struct{})
	j := &job{cluster: c, body: func(ctx context.Context, r *InprocRank) error {
		r.session.InZone(&policy)
		switch place := r.session.Place(); {
		case r.replacement:
		case place.Original == ranks-1:
			r.Die()
		default:
			_, err := place.Comm.Irecv(ranks-2-place.Original, 1, nil).Wait(ctx)
			require.ErrorIs(t, err, driver.ErrRevoked)
			<-replaced
			_, err = r.session.Repair(ctx, policy)
			require.NoError(t, err)
		}
		require.Equal(t, ranks, r.session.Place().Comm.Size())
		return nil
	}}
	c.start = func(ctx context.Context, p *inprocProc) {
		if p.ep.self == control.Proc(ranks) {
			close(replaced)
		}
		j.ranks.Go(func() { j.run(ctx, p) })
	}
	c.begin(func() {})
	c.wait()
	j.ranks.Wait()
	require.NoError(t, j.result())
}
