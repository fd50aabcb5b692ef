package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
)

// 5. Errors.

func writeOrGoOn(ctx context.Context, cp *checkpoint.Checkpoint, iter int) error {
	err := cp.UpdateAndWrite(ctx, iter, 10)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, errors.Is(err, comm.ErrProcFailed), errors.Is(err, comm.ErrRevoked):
		return err // the job is over, or has to be repaired
	}
	fmt.Fprintln(os.Stderr, "no checkpoint this time:", err) // a full disk, say
	return nil
}

type parameters struct {
	NX, NY int
	Seed   uint64
}

func openWithFingerprint(dir string, p parameters) (*checkpoint.Checkpoint, error) {
	return checkpoint.New("heat", nil, checkpoint.WithPath(dir), checkpoint.WithFingerprint(p))
}

func TestGuideErrors(t *testing.T) {
	dir := t.TempDir()
	x := 0
	for _, p := range []parameters{{10, 10, 1}, {10, 20, 1}} {
		cp, err := openWithFingerprint(dir, p)
		require.NoError(t, err)
		require.NoError(t, errors.Join(cp.Add("x", &x), cp.Commit()))
		err = cp.RestartIfNeeded(t.Context(), nil)
		if p.NY == 20 {
			require.ErrorIs(t, err, checkpoint.ErrFingerprint)
			require.ErrorContains(t, err, "NY: stored 10, now 20")
		} else {
			require.NoError(t, err)
			require.NoError(t, writeOrGoOn(t.Context(), cp, 0))
			require.NoError(t, os.Rename(dir+"/heat", dir+"/gone"))
			require.NoError(t, os.WriteFile(dir+"/heat", nil, 0o600))
			require.NoError(t, writeOrGoOn(t.Context(), cp, 10)) // fails, and the program goes on
			require.NoError(t, os.Remove(dir+"/heat"))
			require.NoError(t, os.Rename(dir+"/gone", dir+"/heat"))
		}
		require.NoError(t, cp.Close())
	}
}

// A context that the signal has cancelled cancels the last version as well.
func TestGuideCancelledContext(t *testing.T) {
	x := 0
	cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(t.TempDir()), checkpoint.WithLogger(quiet))
	require.NoError(t, err)
	require.NoError(t, errors.Join(cp.Add("x", &x), cp.Commit()))
	require.NoError(t, cp.RestartIfNeeded(t.Context(), nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, cp.UpdateAndWrite(ctx, 0, 1), context.Canceled)
	require.NoError(t, cp.Close())
}
