package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/deadline"
	"github.com/craft-go/craft/internal/demand"
)

// withPoint has a checkpoint meet others at a point of its own: that of the process is asked to end only
// once.
func withPoint(p *demand.Point) Option { return func(o *options) { o.point = p } }

// runToEnd is a program that computes to n, and saves every freq iterations. before is called before each call.
func runToEnd(ctx context.Context, dir string, p *demand.Point, n, freq int, before func(iter int), opts ...Option) (sum, first int, err error) {
	cp, err := New("loop", nil, append([]Option{WithPath(dir), withPoint(p)}, opts...)...)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, cp.Close()) }()
	if err := errors.Join(cp.Add("sum", &sum), cp.Commit()); err != nil {
		return 0, 0, err
	}
	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return 0, 0, err
	}
	if cp.Finished() {
		return sum, iter, nil
	}
	for first = iter; iter < n; iter++ {
		sum += iter
		if before != nil {
			before(iter)
		}
		if err := cp.UpdateAndWrite(ctx, iter, freq); err != nil {
			return sum, first, err
		}
	}
	return sum, first, cp.Finish(ctx, n-1)
}

var allModes = []AsyncMode{AsyncOff, AsyncCopy, AsyncZeroCopy}

func end(source string) demand.Demand {
	return demand.Demand{Cause: demand.Deadline, Source: source, Left: time.Hour}
}

func TestEndSavesAndGoesOn(t *testing.T) {
	for _, mode := range allModes {
		t.Run(string(mode), func(t *testing.T) {
			dir, p := t.TempDir(), demand.NewLocal()
			_, _, err := runToEnd(t.Context(), dir, p, 100, 10, func(iter int) {
				if iter == 57 {
					p.Ask(end("SIGTERM"))
				}
			}, WithAsync(mode))
			require.ErrorIs(t, err, ErrDeadline)
			var d *DeadlineError
			require.ErrorAs(t, err, &d)
			require.True(t, d.Saved)
			require.EqualValues(t, 57, d.Iteration)
			require.Zero(t, d.Level)
			require.Equal(t, ExitRequeue, ExitCode(err))
			require.Contains(t, err.Error(), "SIGTERM")

			sum, first, err := runToEnd(t.Context(), dir, demand.NewLocal(), 100, 10, nil, WithAsync(mode))
			require.NoError(t, err)
			require.Equal(t, 58, first)
			require.Equal(t, 99*100/2, sum)

			sum, first, err = runToEnd(t.Context(), dir, demand.NewLocal(), 100, 10, func(int) { require.Fail(t, "there is nothing to compute") }, WithAsync(mode))
			require.NoError(t, err)
			require.Equal(t, 100, first)
			require.Equal(t, 99*100/2, sum)
		})
	}
}

func TestVersionOnDemand(t *testing.T) {
	dir, p := t.TempDir(), demand.NewLocal()
	_, _, err := runToEnd(t.Context(), dir, p, 100, 1000, func(iter int) {
		if iter == 57 {
			p.Ask(demand.Demand{Source: "craft checkpoint", Left: demand.NoLimit})
		}
		if iter == 80 {
			p.Ask(end("x"))
			p.Ask(end("x"))
		}
	})
	require.ErrorIs(t, err, ErrDeadline)
	require.EqualValues(t, 3, latestVersion(t, dir)) // of iterations 0, 57 and 80
}

func latestVersion(t *testing.T, dir string) uint64 {
	cp, err := New("loop", nil, WithPath(dir))
	require.NoError(t, err)
	latest, err := cp.home.Announced(t.Context())
	require.NoError(t, err)
	require.NoError(t, cp.Close())
	return latest.Version
}

// Calls after the end return it again, and write nothing.
func TestCallsAfterTheEnd(t *testing.T) {
	dir, p := t.TempDir(), demand.NewLocal()
	cp, err := New("loop", nil, WithPath(dir), withPoint(p))
	require.NoError(t, err)
	sum := 1
	require.NoError(t, errors.Join(cp.Add("sum", &sum), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil)))
	p.Ask(end("x"))
	first := cp.UpdateAndWrite(t.Context(), 0, 1)
	require.ErrorIs(t, first, ErrDeadline)
	for range 3 {
		require.Equal(t, first, cp.UpdateAndWrite(t.Context(), 1, 1))
		require.Equal(t, first, cp.Write(t.Context()))
	}
	other, err := New("other", nil, WithPath(dir), withPoint(p))
	require.NoError(t, err)
	require.NoError(t, errors.Join(other.Add("sum", &sum), other.Commit()))
	require.ErrorIs(t, other.RestartIfNeeded(t.Context(), nil), ErrDeadline)
	require.NoError(t, errors.Join(other.Close(), cp.Close()))
	require.EqualValues(t, 1, latestVersion(t, dir))
}

// A job that is to end before it has begun changes nothing, and is not started again for ever.
func TestEndBeforeTheBeginning(t *testing.T) {
	dir := t.TempDir()
	_, _, err := runToEnd(t.Context(), dir, demand.NewLocal(), 21, 10, nil)
	require.NoError(t, err)
	dir = t.TempDir()
	p := demand.NewLocal()
	_, _, err = runToEnd(t.Context(), dir, p, 100, 10, func(iter int) {
		if iter == 33 {
			p.Ask(end("x"))
		}
	})
	require.ErrorIs(t, err, ErrDeadline)
	for start := 1; start <= 4; start++ {
		p := demand.NewLocal()
		p.Ask(end("CRAFT_DEADLINE"))
		_, _, err := runToEnd(t.Context(), dir, p, 100, 10, func(int) { require.Fail(t, "it has begun") })
		var d *DeadlineError
		require.ErrorAs(t, err, &d)
		require.False(t, d.Saved)
		require.EqualValues(t, 33, d.Iteration)
		if start < tooManyStarts {
			require.Equal(t, ExitRequeue, ExitCode(err), "start %d", start)
		} else {
			require.Equal(t, ExitFailed, ExitCode(err), "start %d", start)
			require.Contains(t, err.Error(), "starts in a row")
		}
	}
	_, first, err := runToEnd(t.Context(), dir, demand.NewLocal(), 100, 10, nil)
	require.NoError(t, err)
	require.Equal(t, 34, first)
}

func TestExitCodes(t *testing.T) {
	code := func(c demand.Cause) int { return ExitCode(errors.Join(errors.New("around"), &DeadlineError{cause: c})) }
	require.Equal(t, 0, ExitCode(nil))
	require.Equal(t, 1, ExitCode(errors.New("x")))
	require.Equal(t, 76, code(demand.Halt))
	require.Equal(t, 130, code(demand.Interrupt))
	t.Setenv("CRAFT_REQUEUE_CODE", "99")
	require.Equal(t, 99, code(demand.Deadline))
	for _, wrong := range []string{"1", "0", "76", "130", "256", "x", "-1"} {
		t.Setenv("CRAFT_REQUEUE_CODE", wrong)
		require.Equal(t, 75, code(demand.Deadline))
		_, err := New("x", nil, WithPath(t.TempDir()))
		require.ErrorContains(t, err, "CRAFT_REQUEUE_CODE")
	}
}

// TestLateEndTellsTheRestart: a deadline that is over when it is heard of has its warning as soon as somebody watches,
// with the iteration after the one that was restored.
func TestLateEndTellsTheRestart(t *testing.T) {
	dir := t.TempDir()
	for start := range 20 {
		var log syncBuffer
		p, iter := demand.NewLocal(), 0
		cp, err := New("loop", nil, WithPath(dir), withPoint(p), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		require.NoError(t, err)
		require.NoError(t, errors.Join(cp.Add("iter", &iter), cp.Commit()))
		require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
		p.Ask(demand.Demand{Cause: demand.Deadline, Planned: true, Source: "Slurm", Left: 0})
		require.Equal(t, start, iter)
		require.Eventually(t, func() bool { return strings.Contains(log.String(), "restart_iteration=") }, time.Minute, time.Millisecond)
		require.Contains(t, log.String(), fmt.Sprintf("restart_iteration=%d ", start))
		require.ErrorIs(t, cp.UpdateAndWrite(t.Context(), iter, 100), ErrDeadline)
		require.NoError(t, cp.Close())
	}
}

func TestNestedEnd(t *testing.T) {
	for _, outerFreq := range []int{1, 3} {
		dir, p := t.TempDir(), demand.NewLocal()
		run := func(p *demand.Point, before func(stage, iter int)) (sum int, err error) {
			outer, err1 := New("outer", nil, WithPath(dir), withPoint(p))
			inner, err2 := New("inner", nil, WithPath(dir), withPoint(p))
			require.NoError(t, errors.Join(err1, err2))
			defer func() { err = errors.Join(err, inner.Close(), outer.Close()) }()
			require.NoError(t, errors.Join(outer.Add("sum", &sum), outer.Commit(), inner.Add("sum", &sum), inner.Commit(), outer.SubCP(inner)))
			stage := 0
			if err := outer.RestartIfNeeded(t.Context(), &stage); err != nil {
				return sum, err
			}
			for ; stage < 10; stage++ {
				iter := 0
				if err := inner.RestartIfNeeded(t.Context(), &iter); err != nil {
					return sum, err
				}
				for ; iter < 10; iter++ {
					sum += stage * iter
					before(stage, iter)
					if err := inner.UpdateAndWrite(t.Context(), iter, 4); err != nil {
						return sum, err
					}
				}
				if err := outer.UpdateAndWrite(t.Context(), stage, outerFreq); err != nil {
					return sum, err
				}
			}
			return sum, nil
		}
		_, err := run(p, func(stage, iter int) {
			if stage == 5 && iter == 6 {
				p.Ask(end("x"))
			}
		})
		var d *DeadlineError
		require.ErrorAs(t, err, &d)
		require.True(t, d.Saved)
		var first []int
		sum, err := run(demand.NewLocal(), func(stage, iter int) {
			if first == nil {
				first = []int{stage, iter}
			}
		})
		require.NoError(t, err)
		require.Equal(t, 45*45, sum)
		if outerFreq == 1 {
			require.Equal(t, []int{5, 7}, first)
		} else {
			require.Equal(t, []int{6, 0}, first, "the outer one is due at its next call")
		}
	}
}

// A state that a guard refuses is not to be gone on with, also at the end.
func TestEndWithAGuard(t *testing.T) {
	dir, p := t.TempDir(), demand.NewLocal()
	cp, err := New("loop", nil, WithPath(dir), withPoint(p))
	require.NoError(t, err)
	x := []float64{1}
	require.NoError(t, errors.Join(cp.Add("x", &x, Finite()), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil), cp.UpdateAndWrite(t.Context(), 0, 1)))
	x[0] = math.NaN()
	p.Ask(end("x"))
	err = cp.UpdateAndWrite(t.Context(), 1, 10)
	require.ErrorIs(t, err, ErrDeadline)
	require.ErrorIs(t, err, ErrGuard)
	require.Equal(t, ExitFailed, ExitCode(err))
	require.NoError(t, cp.Close())
	require.EqualValues(t, 1, latestVersion(t, dir))
}

// slowToRead is a value that notes when it was read.
type slowToRead struct {
	cp   *Checkpoint
	read time.Time
}

func (s *slowToRead) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write([]byte{1})
	return int64(n), err
}

func (s *slowToRead) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.ReadFull(r, make([]byte, 1))
	s.read = time.Now()
	return int64(n), err
}

// What a restart takes is no step of the program.
func TestRestartIsNoStep(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		x := &slowToRead{}
		cp, err := New("loop", nil, WithPath(dir), withPoint(demand.NewLocal()))
		require.NoError(t, err)
		x.cp = cp
		require.NoError(t, errors.Join(cp.Add("x", x), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil)))
		began, is := cp.meet.tempo.Called()
		require.True(t, is)
		require.False(t, began.Before(x.read))
		require.NoError(t, errors.Join(cp.UpdateAndWrite(t.Context(), 0, 1), cp.Close()))
	}
}

// A notice that does not say when is as urgent as a signal.
func TestNoticeWithoutATime(t *testing.T) {
	at := deadline.Deadline{Left: 25 * time.Second, Source: "CRAFT_NOTICE"}
	require.True(t, demandOf(at).Planned)
	at.Unsaid = true
	require.False(t, demandOf(at).Planned)
	require.Equal(t, at.Left, demandOf(at).Left)
}

// Whoever reads the log knows of a deadline when the program does: who says so, and how much is left.
func TestDeadlinesAreLogged(t *testing.T) {
	for text, at := range map[string]deadline.Deadline{
		`level=INFO msg="there is a deadline: the program saves and ends before" source=Slurm left=1h0m0s`:            {Left: time.Hour, Source: "Slurm"},
		`level=WARN msg="this machine is to go away: the program saves and ends before" source=CRAFT_NOTICE left=25s`: {Left: 25 * time.Second, Source: "CRAFT_NOTICE", Notice: true},
		`level=INFO msg="there is no deadline any more"`:                                                              {},
	} {
		var log strings.Builder
		at.Left -= time.Millisecond
		tellDeadline(slog.New(slog.NewTextHandler(&log, nil)), at)
		require.Contains(t, log.String(), text)
	}
}

// Nobody is told that signals are taken longer than they are.
func TestSignalsUntilTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	OnSignal(ctx)
	require.Equal(t, demand.TakesEnd, demand.This.Taken()[int(syscall.SIGTERM)])
	cancel()
	require.Eventually(t, func() bool { return len(demand.This.Taken()) == 0 }, time.Minute, time.Millisecond)
}

// So it is where nothing has been stored ever.
func TestEndBeforeTheFirstBeginning(t *testing.T) {
	dir := t.TempDir()
	for start := 1; start <= 4; start++ {
		p := demand.NewLocal()
		p.Ask(end("CRAFT_DEADLINE"))
		_, _, err := runToEnd(t.Context(), dir, p, 100, 10, func(int) { require.Fail(t, "it has begun") })
		require.ErrorIs(t, err, ErrDeadline)
		if start < tooManyStarts {
			require.Equal(t, ExitRequeue, ExitCode(err), "start %d", start)
		} else {
			require.Equal(t, ExitFailed, ExitCode(err), "start %d", start)
		}
	}
	_, first, err := runToEnd(t.Context(), dir, demand.NewLocal(), 100, 10, nil)
	require.NoError(t, err)
	require.Zero(t, first)
}

// Of an end that all ranks have in common one process speaks, and of its own errors each.
func TestExitMessage(t *testing.T) {
	loud, silent := &DeadlineError{Source: "SIGTERM"}, &DeadlineError{Source: "SIGTERM", quiet: true}
	require.Empty(t, ExitMessage(nil))
	require.Equal(t, loud.Error()+"\n", ExitMessage(loud))
	require.Empty(t, ExitMessage(silent))
	require.Empty(t, ExitMessage(fmt.Errorf("in the loop: %w", errors.Join(silent, silent))))
	require.Contains(t, ExitMessage(errors.Join(silent, errors.New("close"))), "close")
	require.Equal(t, "x\n", ExitMessage(errors.New("x")))

	for _, elsewhere := range []error{&RankError{Rank: 3, Message: "full"}, fmt.Errorf("write: %w", &RankError{}), fmt.Errorf("recovery: %w", &demand.EndError{Err: errLost}), zoneError{true, errLost}} {
		require.NotEmpty(t, ExitMessage(elsewhere), "the other rank may be in this process")
		t.Setenv("CRAFT_ROLE", "rank")
		require.Empty(t, ExitMessage(elsewhere))
		require.NotEmpty(t, ExitMessage(zoneError{false, elsewhere}), "nobody else says it")
		require.NotEmpty(t, ExitMessage(errors.Join(elsewhere, errors.New("close"))))
		t.Setenv("CRAFT_ROLE", "")
	}
}

// zoneError is an error as a zone returns it.
type zoneError struct {
	elsewhere bool
	error
}

func (e zoneError) Elsewhere() bool { return e.elsewhere }
func (e zoneError) Unwrap() error   { return e.error }
