package checkpoint

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
)

// slowUpdate is a value of one byte whose versions take some time on a clock that only sleeping moves.
type slowUpdate struct{ takes time.Duration }

func (s *slowUpdate) Update() error {
	time.Sleep(s.takes)
	return nil
}

func (s *slowUpdate) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write([]byte{1})
	return int64(n), err
}

func (s *slowUpdate) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.ReadFull(r, make([]byte, 1))
	return int64(n), err
}

// paced is a program whose steps take a time of their own, on a file system in memory.
type paced struct {
	cp    *Checkpoint
	value slowUpdate
	iter  int
	made  []int // iterations that were stored
}

func newPaced(t require.TestingT, c *comm.Comm, home vfs.FS, opts ...Option) *paced {
	p := &paced{}
	var err error
	options := []Option{WithPath("/pfs"), withFS(home), WithLogger(slog.New(slog.DiscardHandler)), func(o *options) { o.lookEvery = time.Hour }}
	if c == nil { // what the process waits for is on another clock
		options = append(options, withPoint(demand.NewLocal()))
	}
	p.cp, err = New("paced", c, append(options, opts...)...)
	require.NoError(t, err)
	require.NoError(t, errors.Join(p.cp.Add("x", &p.value), p.cp.Commit()))
	return p
}

// steps makes some steps, and notes after which of them there is another version.
func (p *paced) steps(ctx context.Context, n, freq int, takes time.Duration) error {
	for range n {
		time.Sleep(takes)
		before := p.cp.Stats()
		if err := p.cp.UpdateAndWrite(ctx, p.iter, freq); err != nil {
			return err
		}
		if after := p.cp.Stats(); after.VersionsWritten > before.VersionsWritten {
			p.made = append(p.made, p.iter)
		}
		p.iter++
	}
	return nil
}

func (p *paced) begin(t require.TestingT, ctx context.Context) {
	require.NoError(t, p.cp.RestartIfNeeded(ctx, &p.iter))
}

func TestTriggersByTime(t *testing.T) {
	for name, c := range map[string]struct {
		triggers []Trigger
		freq     int
		env      string
		want     []int
	}{
		"time":                      {[]Trigger{EveryTime(time.Minute)}, 0, "", []int{5, 11, 17}},
		"between two steps":         {[]Trigger{EveryTime(59 * time.Second)}, 0, "", []int{5, 11, 17}},
		"the shorter one":           {[]Trigger{EveryTime(2 * time.Minute), EveryTime(65 * time.Second)}, 0, "", []int{6, 13}},
		"shorter than a step":       {[]Trigger{EveryTime(time.Second)}, 0, "", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}},
		"iterations":                {[]Trigger{Every(7)}, 0, "", []int{0, 7, 14}},
		"of two kinds, begun since": {[]Trigger{Every(8), EveryTime(time.Minute)}, 0, "", []int{0, 6, 8, 14, 16}},
		"and the frequency":         {[]Trigger{EveryTime(time.Minute)}, 9, "", []int{0, 6, 9, 15, 18}},
		"neither":                   {nil, 0, "", nil},
		"the environment: time":     {[]Trigger{Every(1)}, 1, "1m", []int{5, 11, 17}},
		"the environment: number":   {[]Trigger{EveryTime(time.Second)}, 3, "10", []int{0, 10}},
		"the environment: auto":     {[]Trigger{Every(1)}, 1, "auto", []int{5, 6, 8, 11}}, // see TestAuto
	} {
		t.Run(name, func(t *testing.T) {
			if c.env != "" {
				t.Setenv("CRAFT_CP_FREQ", c.env)
			}
			synctest.Test(t, func(t *testing.T) {
				p := newPaced(t, nil, vfs.NewMem(), WithTriggers(c.triggers...))
				p.begin(t, t.Context())
				require.NoError(t, p.steps(t.Context(), 20, c.freq, 10*time.Second))
				require.NoError(t, p.cp.Close())
				if c.env == "auto" {
					require.NotEmpty(t, p.made)
					require.Less(t, len(p.made), 20)
					return
				}
				require.Equal(t, c.want, p.made)
			})
		})
	}
}

// What counts is when the last version was begun, by whatever call, or when the program went on.
func TestTimeSinceWhat(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				home := vfs.NewMem()
				ctx := t.Context()
				p := newPaced(t, nil, home, WithTriggers(EveryTime(time.Minute)), WithAsync(AsyncMode(mode)))
				time.Sleep(time.Hour) // before it has anything
				p.begin(t, ctx)
				begun := func(p *paced, n int) uint64 {
					require.NoError(t, p.steps(ctx, n, 0, 10*time.Second))
					return p.cp.line.attempt.last
				}
				require.EqualValues(t, 0, begun(p, 5))
				require.NoError(t, p.cp.Write(ctx))
				require.EqualValues(t, 1, begun(p, 5))
				require.EqualValues(t, 2, begun(p, 1))
				require.NoError(t, p.cp.Close())

				p = newPaced(t, nil, home, WithTriggers(EveryTime(time.Minute)), WithAsync(AsyncMode(mode)))
				time.Sleep(time.Hour)
				p.begin(t, ctx)
				require.Equal(t, 11, p.iter)
				require.EqualValues(t, 2, begun(p, 5), "the restart is as good as a version")
				require.EqualValues(t, 3, begun(p, 1))
				require.NoError(t, p.cp.Close())
			})
		})
	}
}

func TestWrongTriggers(t *testing.T) {
	for want, triggers := range map[string][]Trigger{
		"Every(0)":                           {Every(0)},
		"EveryTime(-1s)":                     {EveryTime(time.Minute), EveryTime(-time.Second)},
		"MTBF(0s)":                           {Auto(MTBF(0))},
		"option 1 of Auto is nil":            {Auto(nil)},
		"trigger 2 of 2 is the zero Trigger": {Every(1), {}},
	} {
		_, err := New("x", nil, WithPath(t.TempDir()), WithTriggers(triggers...))
		require.ErrorIs(t, err, ErrArgument)
		require.ErrorContains(t, err, want)
	}
	for variable, values := range map[string][]string{
		"CRAFT_CP_FREQ":  {"0", "-1", "10 m", "often", "0s", "010", "auto:1h", "1e3"},
		"CRAFT_MAX_LOSS": {"0", "-1h", "10", "x", "1ms"},
	} {
		for _, value := range values {
			t.Run(variable+"="+value, func(t *testing.T) {
				t.Setenv(variable, value)
				_, err := New("x", nil, WithPath(t.TempDir()))
				require.ErrorContains(t, err, variable)
				require.ErrorContains(t, err, "allowed are")
			})
		}
	}
}

func TestFrequencies(t *testing.T) {
	var log syncBuffer
	logger := WithLogger(slog.New(slog.NewTextHandler(&log, nil)))
	p := newPaced(t, nil, vfs.NewMem(), logger)
	require.ErrorIs(t, p.cp.UpdateAndWrite(t.Context(), 1, -1), ErrArgument)
	require.NoError(t, p.steps(t.Context(), 3, 0, 0))
	require.Empty(t, p.made)
	require.Equal(t, 1, strings.Count(log.String(), "UpdateAndWrite writes nothing by itself"))
	require.NoError(t, p.cp.Close())

	t.Setenv("CRAFT_CP_FREQ", "2")
	for range 2 {
		p = newPaced(t, nil, vfs.NewMem(), logger, WithTriggers(EveryTime(time.Hour)))
		require.NoError(t, p.steps(t.Context(), 5, 3, 0))
		require.Equal(t, []int{0, 2, 4}, p.made)
		require.NoError(t, p.cp.Close())
	}
	require.Equal(t, 1, strings.Count(log.String(), "CRAFT_CP_FREQ takes the place"), log.String())
	require.Contains(t, log.String(), "frequency=3 triggers=1h0m0s")
}

// A disk that is full for a while: tries are rare, and when it has room again the next one comes soon.
func TestFullDiskIsNotTriedAtEachStep(t *testing.T) {
	for name, trigger := range map[string]Trigger{"time": EveryTime(10 * time.Minute), "short": EveryTime(time.Second), "auto": Auto()} {
		for _, mode := range modes[:2] {
			t.Run(name+" "+mode, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					full, tries := false, 0
					home := vfs.WithErrors(vfs.NewMem(), func(op vfs.Op) error {
						mu.Lock()
						defer mu.Unlock()
						stores := op.Kind == vfs.OpCreate || op.Kind == vfs.OpOverwrite || op.Kind == vfs.OpWrite
						if full && stores && strings.Contains(op.Path, "rank-") {
							tries++
							return syscall.ENOSPC
						}
						return nil
					})
					p := newPaced(t, nil, home, WithTriggers(trigger), WithAsync(AsyncMode(mode)))
					p.begin(t, t.Context())
					pass := func(d time.Duration) {
						for end := time.Now().Add(d); time.Now().Before(end); {
							time.Sleep(2 * time.Second)
							if err := p.cp.UpdateAndWrite(t.Context(), p.iter, 0); err != nil {
								require.ErrorIs(t, err, syscall.ENOSPC)
							}
							synctest.Wait()
							p.iter++
						}
					}
					set := func(now bool) { mu.Lock(); full = now; mu.Unlock() }
					pass(11 * time.Minute)
					set(true)
					began := p.cp.line.attempt.last
					pass(20 * time.Minute)
					tried := p.cp.line.attempt.last - began
					require.Positive(t, tries)
					require.Less(t, tried, uint64(20+30), "600 steps")
					set(false)
					written := p.cp.Stats().VersionsWritten
					pass(11 * time.Minute)
					require.NoError(t, p.cp.Wait(t.Context()))
					require.Greater(t, p.cp.Stats().VersionsWritten, written)
					require.NoError(t, p.cp.Close())
				})
			})
		}
	}
}

// TestRanksAgreeOnTimedVersions: all write at the same calls, in time as far as steps allow, and say nothing at
// all others. They are skewed, and do not communicate.
func TestRanksAgreeOnTimedVersions(t *testing.T) {
	const ranks, interval = 4, 10 * time.Minute
	const skew = interval * ranks / 100 // of a program that does not communicate
	type part struct {
		calls int
		step  time.Duration
	}
	for name, c := range map[string]struct {
		parts    []part
		late     time.Duration
		meetings int
	}{
		"constant": {[]part{{30_000, 100 * time.Millisecond}}, 7 * time.Second, 600},
		"long":     {[]part{{100, 7 * time.Minute}}, 7 * time.Minute, 200},
		// What was to be 6 s until the next meeting takes 10 minutes.
		"a hundred times slower": {[]part{{62_000, 10 * time.Millisecond}, {3000, time.Second}}, interval + time.Second, 800},
		"a hundred times faster": {[]part{{2000, time.Second}, {70_000, 10 * time.Millisecond}}, 7 * time.Second, 900},
		"to and fro":             {[]part{{1500, time.Second}, {9000, 50 * time.Millisecond}, {300, 5 * time.Second}, {2000, time.Second}}, interval, 900},
	} {
		if raceEnabled && testing.Short() && slices.ContainsFunc(c.parts, func(p part) bool { return p.calls > 10_000 }) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				home := vfs.NewMem()
				made := make([][]int, ranks)
				require.NoError(t, afttest.Run(t.Context(), ranks, func(ctx context.Context, co *comm.Comm) error {
					p := newPaced(t, co, home, WithTriggers(EveryTime(interval)))
					p.begin(t, ctx)
					collectives, meetings := 0, 0
					defer co.Session().Observe(&comm.Observer{Collective: func(comm.Collective) func(error) {
						collectives++
						return nil
					}})()
					last, calls := time.Now(), 0
					for _, part := range c.parts {
						for range part.calls {
							next, said, stored := p.cp.pace.own.next, collectives, len(p.made)
							if err := p.steps(ctx, 1, 0, part.step+time.Duration(co.Rank())*part.step/100); err != nil {
								return err
							}
							calls++
							switch {
							case len(p.made) > stored:
								require.Less(t, time.Since(last), interval+c.late+skew+part.step)
								require.GreaterOrEqual(t, time.Since(last), interval-skew-part.step)
								last = time.Now()
							case p.cp.pace.own.next != next:
								meetings++
							case collectives != said:
								require.Fail(t, "ranks have met", "at call %d", calls)
							}
						}
					}
					require.Less(t, meetings, c.meetings)
					made[co.Rank()] = p.made
					if co.Rank() == 0 {
						t.Logf("%d versions and %d meetings in %d calls", len(p.made), meetings, calls)
					}
					return p.cp.Close()
				}))
				require.GreaterOrEqual(t, len(made[0]), 3)
				for rank := range made {
					require.Equal(t, made[0], made[rank])
				}
			})
		})
	}
}

// A version that is asked for after a call in which none was due counts like any other.
func TestVersionAfterAMeeting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := vfs.NewMem()
		require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, co *comm.Comm) error {
			p := newPaced(t, co, home, WithTriggers(EveryTime(10*time.Minute)))
			p.begin(t, ctx)
			if err := p.steps(ctx, 1, 0, 5*time.Minute); err != nil {
				return err
			}
			require.Empty(t, p.made)
			if err := p.cp.Write(ctx); err != nil {
				return err
			}
			if k := p.cp.pace.own; co.Rank() == 0 {
				require.Equal(t, 10*time.Minute, k.schedule.Left(k.now(), 0), "after the one that was asked for")
			}
			return p.cp.Close()
		}))
	})
}
