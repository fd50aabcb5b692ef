package checkpoint

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/demand"
)

// TestEndWithoutCheckpoints: who is asked to end ends, also where nothing can be saved.
func TestEndWithoutCheckpoints(t *testing.T) {
	dir, p := filepath.Join(t.TempDir(), "none"), demand.NewLocal()
	calls := 0
	_, _, err := runToEnd(t.Context(), dir, p, 100, 10, func(iter int) {
		if calls++; iter == 57 {
			p.Ask(demand.Demand{Source: "SIGUSR1", Left: demand.NoLimit}) // a version, of which there are none
			p.Ask(end("SIGTERM"))
		}
	}, WithEnable(false))
	require.ErrorIs(t, err, ErrDeadline)
	require.ErrorContains(t, err, "nothing is stored")
	require.ErrorContains(t, err, "switched off")
	require.Equal(t, 58, calls)
	require.Equal(t, ExitFailed, ExitCode(err), "the next start would begin anew")
	require.Equal(t, ExitInterrupt, ExitCode(&DeadlineError{cause: demand.Interrupt, Err: errOff}))
	require.NoDirExists(t, dir)
}

// TestFinishedRunGoesOn: a run that was finished is computed further, and is finished again, also where no version was
// due on the way.
func TestFinishedRunGoesOn(t *testing.T) {
	for _, mode := range allModes {
		dir := t.TempDir()
		for _, n := range []int{100, 100, 130, 130} {
			cp, err := New("loop", nil, WithPath(dir), WithAsync(mode))
			require.NoError(t, err)
			iter, sum := 0, 0
			require.NoError(t, cp.Add("sum", &sum))
			require.NoError(t, cp.Commit())
			require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
			was := iter == n
			require.Equal(t, iter > 0, cp.Finished())
			for ; iter < n; iter++ {
				sum += iter
				require.NoError(t, cp.UpdateAndWrite(t.Context(), iter, 1000))
			}
			written := cp.Stats().VersionsWritten
			require.NoError(t, cp.Finish(t.Context(), iter-1))
			require.Equal(t, was, cp.Stats().VersionsWritten == written)
			require.True(t, cp.Finished())
			require.NoError(t, cp.Close())
			require.Equal(t, n*(n-1)/2, sum)
		}
	}
}

// TestFinishOfFewerIterations: a start that wants fewer iterations than are done leaves what is stored with the
// iteration that it is of, so that one that wants more again computes none twice.
func TestFinishOfFewerIterations(t *testing.T) {
	for _, finished := range []bool{true, false} {
		dir := t.TempDir()
		for _, n := range []int{100, 30, 60, 130} {
			cp, err := New("loop", nil, WithPath(dir))
			require.NoError(t, err)
			iter, sum := 0, 0
			require.NoError(t, cp.Add("sum", &sum))
			require.NoError(t, cp.Commit())
			require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
			for ; iter < n; iter++ {
				sum += iter
				require.NoError(t, cp.UpdateAndWrite(t.Context(), iter, 1))
			}
			if finished || n != 100 {
				require.NoError(t, cp.Finish(t.Context(), n-1))
				require.True(t, cp.Finished())
			}
			require.NoError(t, cp.Close())
			done := max(n, 100)
			require.Equal(t, done*(done-1)/2, sum, "%d iterations", n)
		}
	}
}

// Off means off: a deadline that comes near asks nobody to end, who would save nothing, and none is looked for.
func TestNoDeadlineWithoutCheckpoints(t *testing.T) {
	dir, p := t.TempDir(), demand.NewLocal()
	t.Setenv("CRAFT_DEADLINE", "+0s")
	run := func(p *demand.Point) (calls int, err error) {
		_, _, err = runToEnd(t.Context(), dir, p, 100, 10, func(int) { calls++ }, WithEnable(false))
		return calls, err
	}
	before := ofProcess.read
	p.Ask(demand.Demand{Cause: demand.Deadline, Planned: true, Source: "CRAFT_DEADLINE", Left: 0})
	for _, point := range []*demand.Point{p, nil} { // nil: that of the process
		calls, err := run(point)
		require.NoError(t, err)
		require.Equal(t, 100, calls)
	}
	require.Equal(t, before, ofProcess.read)
	p.Ask(end("SIGTERM"))
	calls, err := run(p)
	require.ErrorIs(t, err, ErrDeadline, "who asks for the end has it")
	require.Equal(t, 1, calls)
}
