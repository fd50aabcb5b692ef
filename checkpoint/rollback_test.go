package checkpoint

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

// TestRollBackEndsWrites: a write that waits for a rank that does not come, or a wait for it in the background, ends in a
// roll-back, whatever its context, though who has failed has no part in the checkpoint.
func TestRollBackEndsWrites(t *testing.T) {
	for _, mode := range []AsyncMode{AsyncOff, AsyncCopy, AsyncZeroCopy} {
		t.Run(string(mode), func(t *testing.T) {
			dir := t.TempDir()
			quiet := slog.New(slog.DiscardHandler)
			require.NoError(t, (&afttest.Cluster{Nodes: 2}).Run(t.Context(), 3, func(ctx context.Context, r *afttest.Rank) error {
				return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
					if z.Epoch() > 0 {
						return nil
					}
					rank := z.Comm().Rank()
					two, err := z.Comm().Split(ctx, int(rank)/2, 0)
					if err != nil {
						return err
					}
					var cp *Checkpoint
					x := make([]float64, 1000)
					if rank < 2 {
						if cp, err = New("two", two, WithPath(dir), WithLogger(quiet), WithAsync(mode)); err != nil {
							return err
						}
						defer cp.Close()
						cp.Add("x", &x)
						if err := cp.Commit(); err != nil {
							return err
						}
						iter := 0
						if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
							return err
						}
					}
					if _, err := z.Comm().Agree(ctx, 1); err != nil {
						return err
					}
					switch rank {
					case 0:
						if err := cp.UpdateAndWrite(context.Background(), 0, 1); err != nil {
							return err
						}
						return cp.Wait(context.Background())
					case 2:
						r.Die()
					}
					_, _, err = comm.Recv(context.Background(), two, 0, 1, make([]int, 1)) // it revokes nothing before either
					return err
				}, aft.WithRecovery(comm.GlobalRestart), aft.WithRecoveryDelay(time.Hour), aft.WithRecoveryGrace(20*time.Second), aft.WithLogger(quiet))
			}))
		})
	}
}
