package checkpoint

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// countedValue is a number that knows how often it was read.
type countedValue struct {
	n     int64
	reads *atomic.Int64
}

func (v *countedValue) WriteTo(w io.Writer) (int64, error) {
	return 8, binary.Write(w, binary.LittleEndian, v.n)
}

func (v *countedValue) ReadFrom(r io.Reader) (int64, error) {
	v.reads.Add(1)
	return 8, binary.Read(r, binary.LittleEndian, &v.n)
}

// TestForwardRecovery: survivors of a global restart go on with what they have kept, and only the replacement reads
// (Reinit++, section 6).
func TestForwardRecovery(t *testing.T) {
	dir := t.TempDir()
	var survivors, replacements atomic.Int64
	require.NoError(t, (&afttest.Cluster{Nodes: 2}).Run(t.Context(), 3, func(ctx context.Context, r *afttest.Rank) error {
		var kept struct { // outside of the body
			version storage.ID
			n       int64
		}
		return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			v := countedValue{reads: &survivors}
			if z.Replacement() {
				v.reads = &replacements
			}
			cp, err := New("forward", z.Comm(), WithPath(dir), WithLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				return err
			}
			defer cp.Close()
			cp.Add("v", &v)
			if err := cp.Commit(); err != nil {
				return err
			}
			if z.Epoch() > 0 && !z.Replacement() {
				v.n = kept.n
				if err := cp.Adopt(kept.version); err != nil {
					return err
				}
			}
			iter := 0
			if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
				return err
			}
			for ; iter < 10; iter++ {
				v.n += int64(iter)
				if err := cp.UpdateAndWrite(ctx, iter, 1); err != nil {
					return err
				}
				if _, err := z.Comm().Agree(ctx, 1); err != nil {
					return err
				}
				kept.version, kept.n = cp.Version(), v.n
				if iter == 5 && z.Epoch() == 0 {
					if z.Comm().Rank() == 1 {
						r.Die()
					}
					<-ctx.Done()
					return context.Cause(ctx)
				}
			}
			require.EqualValues(t, 45, v.n)
			return comm.Barrier(ctx, z.Comm())
		}, aft.WithRecovery(comm.GlobalRestart), aft.WithLogger(slog.New(slog.DiscardHandler)))
	}))
	require.Zero(t, survivors.Load())
	require.Positive(t, replacements.Load())
}
