package checkpoint

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
)

// endingLoop is a program, on a clock of its own, that stores versions and is asked to end.
type endingLoop struct {
	cp   *Checkpoint
	p    *demand.Point
	disk vfs.FS
	log  syncBuffer
	v    []float64
	slow time.Duration // of each file that is written
	dead time.Duration // of each record
}

func newEndingLoop(t *testing.T, mode AsyncMode) *endingLoop {
	l := &endingLoop{p: demand.NewLocal(), v: make([]float64, 1<<20)}
	l.disk = vfs.WithErrors(vfs.NewMem(), func(op vfs.Op) error {
		if op.Kind == vfs.OpRename && strings.Contains(op.Path, "v-") {
			time.Sleep(l.slow)
		}
		if strings.Contains(op.Path, "RUN-") {
			time.Sleep(l.dead)
		}
		return nil
	})
	cp, err := New("loop", nil, WithPath("/cp"), withFS(l.disk), withPoint(l.p), WithAsync(mode), WithLogger(slog.New(slog.NewTextHandler(&l.log, nil))))
	require.NoError(t, err)
	l.cp = cp
	require.NoError(t, errors.Join(cp.Add("v", &l.v), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil)))
	return l
}

func (l *endingLoop) ask(left time.Duration) {
	l.p.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: left})
}

// tooLate reports whether the log says that nothing can be saved any more, with which iteration a restart begins.
func (l *endingLoop) tooLate(restart string) bool {
	synctest.Wait()
	return strings.Contains(l.log.String(), "the time to save is over") && strings.Contains(l.log.String(), "restart_iteration="+restart+" ")
}

func (l *endingLoop) silent() bool {
	synctest.Wait()
	return !strings.Contains(l.log.String(), "the time to save is over")
}

// With a short grace, and nothing measured, nobody knows that a safe point would come too late until it would.
func TestShortGraceIsNotOverTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newEndingLoop(t, AsyncOff)
		l.ask(time.Second)
		time.Sleep(990 * time.Millisecond)
		require.True(t, l.silent(), "%s", &l.log)
		require.ErrorIs(t, l.cp.UpdateAndWrite(t.Context(), 0, 1), ErrDeadline)
		require.NoError(t, l.cp.Close())
		require.True(t, l.silent(), "%s", &l.log)
	})
}

// What a version has taken at least is the time that a safe point needs.
func TestTimeToSaveIsOver(t *testing.T) {
	for _, measured := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l, restart, over := newEndingLoop(t, AsyncOff), "0", time.Second
			if measured {
				l.slow = 2 * time.Second // the first one is an exception
				require.NoError(t, l.cp.UpdateAndWrite(t.Context(), 0, 1))
				l.slow = 100 * time.Millisecond
				require.NoError(t, l.cp.UpdateAndWrite(t.Context(), 1, 1))
				restart, over = "2", 900*time.Millisecond
			}
			l.ask(time.Second)
			time.Sleep(over - 5*time.Millisecond)
			require.True(t, l.silent(), "%s", &l.log)
			time.Sleep(10 * time.Millisecond)
			require.True(t, l.tooLate(restart), "%s", &l.log)
			require.NoError(t, l.cp.Close())
		})
	}
}

// The log says so also where the file system hangs, which is why nothing is stored.
func TestTimeToSaveIsOverWhileTheFileSystemHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newEndingLoop(t, AsyncOff)
		l.dead = time.Hour
		l.ask(time.Second)
		time.Sleep(2 * time.Second)
		require.True(t, l.tooLate("0"), "%s", &l.log)
		require.NoError(t, l.cp.Close())
	})
}

// A version that is being saved is in time until the time is over, however long others have taken.
func TestSavingIsNotTooLate(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := newEndingLoop(t, AsyncOff)
			l.slow = 800 * time.Millisecond
			require.NoError(t, l.cp.UpdateAndWrite(t.Context(), 0, 1))
			l.ask(time.Second)
			time.Sleep(100 * time.Millisecond) // 900 ms are left, and then 800 are needed
			if late {
				l.slow = 2 * time.Second
			}
			require.ErrorIs(t, l.cp.UpdateAndWrite(t.Context(), 1, 1), ErrDeadline)
			require.NoError(t, l.cp.Close())
			require.Equal(t, !late, l.silent(), "%s", &l.log)
			if late {
				require.True(t, l.tooLate("1"), "%s", &l.log)
				require.Contains(t, l.log.String(), "the last version is not stored yet")
			}
		})
	}
}

// A version that was written in the background is gone on from, though the program has not waited for it.
func TestTimeToSaveNamesWhatIsComplete(t *testing.T) {
	for _, mode := range []AsyncMode{AsyncCopy, AsyncZeroCopy} {
		synctest.Test(t, func(t *testing.T) {
			l := newEndingLoop(t, mode)
			require.NoError(t, l.cp.UpdateAndWrite(t.Context(), 0, 1))
			require.NoError(t, l.cp.UpdateAndWrite(t.Context(), 7, 1))
			<-l.cp.line.flight.Load().ticket.Done()
			l.ask(time.Second)
			time.Sleep(2 * time.Second)
			require.True(t, l.tooLate("8"), "%s", &l.log)
			require.NoError(t, l.cp.Close())
		})
	}
}

// lineLog is a writer for a log that calls itself with each line.
type lineLog func(line string)

func (f lineLog) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}

// That the job ends is said when all is done for it: where nobody takes the log it is not said afterwards that it came too late.
func TestEndIsSaidWhenAllIsDone(t *testing.T) {
	p, over := demand.NewLocal(), false
	log := lineLog(func(line string) {
		if strings.Contains(line, "the job ends") {
			_, over = p.End()
		}
	})
	cp, err := New("loop", nil, WithPath(t.TempDir()), withPoint(p), WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	require.NoError(t, err)
	x := 1
	require.NoError(t, errors.Join(cp.Add("x", &x), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil)))
	p.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: time.Hour})
	require.ErrorIs(t, cp.UpdateAndWrite(t.Context(), 0, 1), ErrDeadline)
	require.NoError(t, cp.Close())
	require.True(t, over)
}

// As soon as what an end needs exceeds the grace one warning names it, with a grace that would do; another one does when a step is twice as long.
func TestGraceThatIsTooShort(t *testing.T) {
	const signal = 99 // of no system
	demand.This.Take(signal, demand.TakesEnd)
	defer demand.This.Take(signal, demand.TakesNothing)
	t.Setenv("CRAFT_GRACE", "5s")
	synctest.Test(t, func(t *testing.T) {
		l := newEndingLoop(t, AsyncOff)
		l.slow = 2 * time.Second
		iter := 0
		step := func(d time.Duration) (warnings int) {
			time.Sleep(d)
			require.NoError(t, l.cp.UpdateAndWrite(t.Context(), iter, 1))
			iter++
			return strings.Count(l.log.String(), "a signal would leave too little time to save")
		}
		require.Zero(t, step(time.Millisecond), "%s", &l.log)
		require.Zero(t, step(2900*time.Millisecond), "%s", &l.log)
		require.Equal(t, 1, step(4*time.Second), "%s", &l.log)
		require.Contains(t, l.log.String(), "longest_step=4s skew=0s cost=2s CRAFT_GRACE=5s would_do=7s")
		require.Equal(t, 1, step(7*time.Second), "%s", &l.log)
		require.Equal(t, 2, step(8*time.Second), "%s", &l.log)
		require.NoError(t, l.cp.Close())
	})
}

// A run that may be killed in a step leaves that it was asked to end, unless something of an inner loop may be stored that nobody knows of.
func TestRecordOfAStepThatIsTooLong(t *testing.T) {
	for want, writes := range map[string]bool{"end": false, "": true} {
		synctest.Test(t, func(t *testing.T) {
			l := newEndingLoop(t, AsyncCopy)
			inner, err := New("inner", nil, WithPath("/cp"), withFS(l.disk), withPoint(l.p), WithAsync(AsyncCopy))
			require.NoError(t, errors.Join(err, inner.Add("v", &l.v), inner.Commit(), l.cp.SubCP(inner), inner.RestartIfNeeded(t.Context(), nil)))
			if writes {
				require.NoError(t, inner.UpdateAndWrite(t.Context(), 0, 1))
				<-inner.line.flight.Load().ticket.Done()
			}
			l.ask(time.Second)
			time.Sleep(2 * time.Second)
			require.True(t, l.tooLate("0"), "%s", &l.log)
			runs, err := l.cp.home.Records(t.Context())
			require.NoError(t, err)
			require.Len(t, runs, 1)
			require.Equal(t, want, runs[0].End)
			require.NoError(t, errors.Join(inner.Close(), l.cp.Close()))
		})
	}
}
