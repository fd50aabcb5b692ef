package commtest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
)

// TestTrialsEndWithTheirFirstFailure: none begins another collective after one that was
// left unfinished.
func TestTrialsEndWithTheirFirstFailure(t *testing.T) {
	for _, tr := range collectiveTrials {
		for revoked := range 12 {
			require.NoError(t, runModel(t.Context(), "", 2, func(ctx context.Context, d driver.Comm, _ Faults) error {
				c, begun, unfinished := comm.New(d), 0, false
				c.Session().Observe(&comm.Observer{Collective: func(k comm.Collective) func(error) {
					if unfinished {
						t.Errorf("%s: %s after a collective that was not finished", tr.name, k.Op)
					}
					if begun++; begun == revoked && c.Rank() == 0 {
						_ = c.Revoke()
					}
					return func(err error) { unfinished = unfinished || err != nil && gone("", err) == nil }
				}})
				if err := tr.call(ctx, c); err != nil {
					return gone(tr.name, err)
				}
				return nil
			}))
		}
	}
}
