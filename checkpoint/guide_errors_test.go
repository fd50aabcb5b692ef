package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

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

// 6. Signals.

func untilStopped(ctx context.Context, cp *checkpoint.Checkpoint, stop <-chan os.Signal, field []float64, iter, steps int) error {
	for ; iter < steps; iter++ {
		diffuse(field)
		select {
		case s := <-stop:
			if err := cp.UpdateAndWrite(ctx, iter, 1); err != nil { // now, whatever the frequency
				return err
			}
			if err := cp.Wait(ctx); err != nil { // if it is asynchronous
				return err
			}
			return fmt.Errorf("stopped by %v; run it again to go on", s)
		default:
		}
		if err := cp.UpdateAndWrite(ctx, iter, 100); err != nil {
			return err
		}
	}
	return cp.Wait(ctx)
}

func stoppable(ctx context.Context, cp *checkpoint.Checkpoint, field []float64, iter, steps int) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(stop)
	return untilStopped(ctx, cp, stop, field, iter, steps)
}

func TestGuideSignals(t *testing.T) {
	dir := t.TempDir()
	field := make([]float64, 10)
	open := func() *checkpoint.Checkpoint {
		cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
		require.NoError(t, err)
		require.NoError(t, errors.Join(cp.Add("field", &field), cp.Commit()))
		return cp
	}
	stop := make(chan os.Signal, 1)
	stop <- os.Interrupt
	cp := open()
	require.ErrorContains(t, untilStopped(t.Context(), cp, stop, field, 7, 100), "interrupt")
	require.NoError(t, cp.Close())
	cp, iter := open(), 0
	require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
	require.Equal(t, 8, iter)
	require.NoError(t, untilStopped(t.Context(), cp, stop, field, iter, 100))
	require.NoError(t, cp.Close())
}

// A signal of the system comes through, and the last version is stored.
func TestGuideRealSignal(t *testing.T) {
	field := make([]float64, 10)
	cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(t.TempDir()), checkpoint.WithLogger(quiet))
	require.NoError(t, err)
	require.NoError(t, errors.Join(cp.Add("field", &field), cp.Commit()))
	guideSteps = stepCounter{at: 150, do: func() { _ = syscall.Kill(os.Getpid(), syscall.SIGTERM) }}
	defer func() { guideSteps = stepCounter{} }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.ErrorContains(t, stoppable(ctx, cp, field, 0, 1<<40), "terminated")
	require.NoError(t, cp.Close())
	require.GreaterOrEqual(t, cp.Stats().VersionsWritten, 3) // 0, 100, and the last one
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
