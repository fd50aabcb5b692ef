package deadline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// scripted is a source of which a test says what it answers.
type scripted struct {
	mu     sync.Mutex
	answer *answer
	err    error
	asked  int
}

func (s *scripted) say(a *answer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer, s.err = a, err
}

func (s *scripted) ask(context.Context) (*answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.answer, s.err
}

func (s *scripted) source(name string, every time.Duration) source {
	return source{name: name, every: every, timeout: time.Second, ask: s.ask}
}

// watching runs a watcher in a bubble, and collects what it tells and logs.
type watching struct {
	mu     sync.Mutex
	told   []Deadline
	log    bytes.Buffer
	cancel context.CancelFunc
	ended  chan struct{}
}

func watch(t *testing.T, sources ...source) *watching {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{cancel: cancel, ended: make(chan struct{})}
	watcher := NewWatcher(Config{Log: slog.New(slog.NewTextHandler(&w.log, nil))}, func(d Deadline) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told = append(w.told, d)
	})
	watcher.sources = sources
	go func() {
		defer close(w.ended)
		watcher.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-w.ended
	})
	return w
}

// next waits for a time, and returns what was told in it.
func (w *watching) next(wait time.Duration) []Deadline {
	time.Sleep(wait)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.told
	w.told = nil
	return told
}

func in(d time.Duration, by string) *answer { return &answer{at: time.Now().Add(d), by: by} }

// TestEachDeadlineIsToldOnce: the first, an earlier one, a later one, one that is gone, the earliest
// of several sources.
func TestEachDeadlineIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var limit, notice scripted
		limit.say(in(time.Hour, "limit"), nil)
		notice.say(none, nil)
		w := watch(t, limit.source("limit", time.Minute), notice.source("notice", time.Second))
		require.Equal(t, []Deadline{{Left: time.Hour, Source: "limit"}}, w.next(0))
		require.Empty(t, w.next(10*time.Minute))

		limit.say(in(30*time.Minute, "limit"), nil) // shorter than before
		told := w.next(2 * time.Minute)
		require.Len(t, told, 1)
		require.InDelta(t, 29*time.Minute, told[0].Left, minute)

		limit.say(in(5*time.Hour, "limit"), nil) // longer
		told = w.next(2 * time.Minute)
		require.Len(t, told, 1)
		require.InDelta(t, 299*time.Minute, told[0].Left, minute)

		notice.say(in(2*time.Minute, "notice"), nil)
		told = w.next(2 * time.Second)
		require.Len(t, told, 1)
		require.Equal(t, "notice", told[0].Source)
		require.InDelta(t, 2*time.Minute, told[0].Left, float64(3*time.Second))

		limit.say(in(time.Hour, "limit"), nil) // is not the earliest
		require.Empty(t, w.next(2*time.Minute))
		notice.say(none, nil)
		told = w.next(2 * time.Second)
		require.Len(t, told, 1)
		require.Equal(t, "limit", told[0].Source)
		limit.say(none, nil)
		require.Equal(t, []Deadline{{}}, w.next(2*time.Minute))
		require.Empty(t, w.next(time.Hour))
		limit.say(in(time.Hour, "limit"), nil)
		require.Len(t, w.next(2*time.Minute), 1)
	})
}

// TestNothingIsToldWithoutADeadline, and what has passed is told as it is.
func TestNothingIsToldWithoutADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s scripted
		s.say(none, nil)
		w := watch(t, s.source("s", time.Second))
		require.Empty(t, w.next(time.Hour))
		s.say(in(-time.Minute, "s"), nil)
		told := w.next(2 * time.Second)
		require.Len(t, told, 1)
		require.Less(t, told[0].Left, -59*time.Second)
		require.Empty(t, w.next(time.Hour))
	})
}

// TestSmallDifferencesAreNone: programs print whole seconds. Small ones that add up are one.
func TestSmallDifferencesAreNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s scripted
		first := in(time.Hour, "s")
		s.say(first, nil)
		w := watch(t, s.source("s", time.Second))
		require.Len(t, w.next(0), 1)
		for i := range 5 {
			s.say(&answer{at: first.at.Add(time.Duration(i) * 600 * time.Millisecond), by: "s"}, nil)
			told := w.next(2 * time.Second)
			require.Equal(t, i == 4, len(told) == 1, i)
		}
		s.say(&answer{at: first.at.Add(3 * time.Second), by: "somebody else, of the same"}, nil)
		require.Empty(t, w.next(2*time.Second))
	})
}

// TestWhatCannotBeAskedStays, and is warned of once.
func TestWhatCannotBeAskedStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s scripted
		s.say(in(time.Hour, "s"), nil)
		w := watch(t, s.source("the source", time.Second))
		require.Len(t, w.next(0), 1)
		s.say(nil, errors.New("no answer"))
		require.Empty(t, w.next(10*time.Minute))
		s.say(in(20*time.Minute, "s"), errors.New("half of it"))
		require.Len(t, w.next(10*time.Second), 1)
		w.cancel()
		<-w.ended
		require.Equal(t, 1, strings.Count(w.log.String(), "\n"), w.log.String())
		require.Contains(t, w.log.String(), `source="the source" error="no answer"`)
	})
}

// TestIntervals: each source is asked at its own, with up to a tenth of it more.
func TestIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var often, seldom, once scripted
		w := watch(t, often.source("often", time.Second), seldom.source("seldom", 3*time.Minute), once.source("once", 0))
		w.next(time.Hour)
		w.cancel()
		<-w.ended
		require.GreaterOrEqual(t, often.asked, 3600*10/11)
		require.LessOrEqual(t, often.asked, 3601)
		require.GreaterOrEqual(t, seldom.asked, 20*10/11)
		require.LessOrEqual(t, seldom.asked, 21)
		require.Equal(t, 1, once.asked)
	})
}

// TestALimitIsAskedMoreOftenWhenItIsNear, since it may be made longer at the last minute; what is asked
// often anyway is asked as often.
func TestALimitIsAskedMoreOftenWhenItIsNear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seldom, often := source{every: 3 * time.Minute}, source{every: time.Second}
		for left, want := range map[time.Duration]time.Duration{
			time.Hour: 3 * time.Minute, 4 * time.Minute: 2 * time.Minute, 40 * time.Second: 30 * time.Second, time.Second: 30 * time.Second, -time.Second: 3 * time.Minute,
		} {
			require.InDelta(t, want*21/20, seldom.pause(*in(left, "s")), float64(want/20), left)
			require.InDelta(t, time.Second*21/20, often.pause(*in(left, "s")), float64(time.Second/20), left)
		}
		require.InDelta(t, 3*time.Minute*21/20, seldom.pause(answer{}), float64(3*time.Minute/20))

		var limit scripted
		limit.say(in(10*time.Minute, "limit"), nil)
		w := watch(t, limit.source("limit", 3*time.Minute))
		require.Len(t, w.next(9*time.Minute), 1)
		limit.say(in(time.Hour, "limit"), nil)
		require.Len(t, w.next(50*time.Second), 1)
	})
}

// TestASourceThatNeverAnswers keeps neither the others waiting nor the end: neither one that looks at
// its context nor one that cannot.
func TestASourceThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		hangs := source{name: "hangs", every: time.Second, timeout: 5 * time.Second, ask: func(context.Context) (*answer, error) {
			<-release
			return nil, nil
		}}
		timesOut := source{name: "times out", every: time.Second, timeout: 5 * time.Second, ask: func(ctx context.Context) (*answer, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		var s scripted
		s.say(in(time.Hour, "s"), nil)
		w := watch(t, hangs, timesOut, s.source("s", time.Second))
		require.Equal(t, []Deadline{{Left: time.Hour, Source: "s"}}, w.next(0))
		s.say(in(2*time.Hour, "s"), nil)
		require.Len(t, w.next(3*time.Second), 1)
		w.next(time.Minute)
		ending := time.Now()
		w.cancel()
		<-w.ended
		require.LessOrEqual(t, time.Since(ending), closeTimeout)
		require.Contains(t, w.log.String(), `source=hangs error="it has not answered for 7s, and cannot be interrupted"`)
		require.Contains(t, w.log.String(), `source="times out" error="context deadline exceeded"`)
		require.Equal(t, 2, strings.Count(w.log.String(), "\n"), w.log.String())
	})
}

// TestALateAnswerCounts: who could not be interrupted may answer yet, and is asked again then.
func TestALateAnswerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		slow := source{name: "slow", every: time.Second, timeout: 5 * time.Second, ask: func(context.Context) (*answer, error) {
			asked.Add(1)
			time.Sleep(30 * time.Second)
			return in(time.Hour, "slow"), nil
		}}
		w := watch(t, slow)
		require.Empty(t, w.next(29*time.Second))
		require.EqualValues(t, 1, asked.Load())
		require.Equal(t, []Deadline{{Left: time.Hour, Source: "slow"}}, w.next(time.Second))
		require.Len(t, w.next(32*time.Second), 1)
	})
}

// TestTheEndWaitsForWhatEnds: a command is killed before a program ends that has started it.
func TestTheEndWaitsForWhatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		s := source{name: "s", every: time.Second, timeout: time.Minute, ask: func(ctx context.Context) (*answer, error) {
			<-ctx.Done()
			time.Sleep(closeTimeout - 1)
			ended.Store(true)
			return nil, ctx.Err()
		}}
		w := watch(t, s)
		w.next(time.Second)
		w.cancel()
		<-w.ended
		require.True(t, ended.Load())
	})
}

// TestNothingIsToldAfterTheEnd, whatever is answered then.
func TestNothingIsToldAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := source{name: "s", every: time.Second, timeout: time.Minute, ask: func(ctx context.Context) (*answer, error) {
			<-ctx.Done()
			return in(time.Hour, "s"), nil
		}}
		w := watch(t, s)
		require.Empty(t, w.next(time.Second))
		w.cancel()
		<-w.ended
		require.Empty(t, w.next(time.Minute))
	})
}

// TestAWatcherWithoutSources, or with nothing to ask again, ends by itself.
func TestAWatcherWithoutSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		NewWatcher(Config{}, nil, Job, Node).Run(t.Context())

		c, err := fromEnv(environment(map[string]string{"CRAFT_DEADLINE": "+1m"}), clock{time.Now}, time.Now())
		require.NoError(t, err)
		var told []Deadline
		w := NewWatcher(c, func(d Deadline) { told = append(told, d) }, Job, Node)
		require.False(t, w.Idle())
		time.Sleep(10 * time.Second)
		w.Run(t.Context())
		require.Equal(t, []Deadline{{Left: 50 * time.Second, Source: "CRAFT_DEADLINE"}}, told)
	})
}

// TestAnEndKillsWhatWasAsked: no command outlives the watcher.
func TestAnEndKillsWhatWasAsked(t *testing.T) {
	dir := t.TempDir()
	c, err := FromEnv(environment(map[string]string{"CRAFT_NOTICE": "cmd:cd " + dir + "; sleep 1000 & echo $! >PID; wait"}))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		NewWatcher(c, func(Deadline) {}, Node).Run(ctx)
	}()
	var pid int
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(filepath.Join(dir, "PID"))
		_, scan := fmt.Sscan(string(b), &pid)
		return err == nil && scan == nil
	}, time.Minute, time.Millisecond)
	cancel()
	<-ended
	require.Eventually(t, func() bool { return gone(pid) }, time.Minute, time.Millisecond)
}

// TestAllSourcesAtOnce: what a plain program asks, with commands, a file and a service that are
// real. The earliest counts, whoever fails.
func TestAllSourcesAtOnce(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	script("squeue", fmt.Sprint("echo ", time.Now().Add(3*time.Hour).Unix()))
	script("qstat", "exit 1")
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	s := &service{}
	s.set(http.StatusOK, "FALSE")
	c, err := FromEnv(environment(map[string]string{
		"CRAFT_DEADLINE": "+4h", "CRAFT_NOTICE": "gcp", "SLURM_JOB_ID": "17", "PBS_JOBID": "12.server",
	}))
	require.NoError(t, err)
	c.Host, c.GCP = "n01", serve(t, s.answer)
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan Deadline, 10), make(chan struct{})
	go func() {
		defer close(ended)
		NewWatcher(c, func(d Deadline) { told <- d }, Job, Node).Run(ctx)
	}()
	until := func(source string, left time.Duration) {
		t.Helper()
		for {
			select {
			case d := <-told:
				if d.Source == source {
					require.InDelta(t, left, d.Left, minute)
					return
				}
			case <-time.After(time.Minute):
				require.Fail(t, "nothing is told", source)
			}
		}
	}
	until("Slurm (squeue)", 3*time.Hour)
	s.set(http.StatusOK, "TRUE")
	until("CRAFT_NOTICE=gcp on n01", 30*time.Second)
	s.set(http.StatusOK, "FALSE")
	until("Slurm (squeue)", 3*time.Hour)
	cancel()
	<-ended
}

// TestAnotherRunGoesOn: who stops for a while, as a program between two of its checkpoints, asks no source before
// its time because of that; what has changed by then is told, also that there is no deadline any more.
func TestAnotherRunGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var limit, fixed, slow scripted
		limit.say(in(10*time.Hour, "limit"), nil)
		fixed.say(in(20*time.Hour, "fixed"), nil)
		var told []Deadline
		w := NewWatcher(Config{}, func(d Deadline) { told = append(told, d) })
		hangs := source{name: "slow", every: limitInterval, timeout: time.Minute, ask: func(ctx context.Context) (*answer, error) {
			_, _ = slow.ask(ctx)
			<-ctx.Done()
			return in(15*time.Hour, "slow"), ctx.Err()
		}}
		w.sources = []source{limit.source("limit", limitInterval), fixed.source("fixed", 0), hangs}
		run := func(d time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			w.Run(ctx)
		}
		run(time.Second)
		require.NotEmpty(t, told) // there are two if the later one has answered first
		require.Equal(t, Deadline{Left: 10 * time.Hour, Source: "limit"}, told[len(told)-1])
		told = nil
		for range 10 {
			run(time.Second)
		}
		require.Empty(t, told)
		require.Equal(t, []int{1, 1, 1}, []int{limit.asked, fixed.asked, slow.asked}, "each once")

		limit.say(none, nil)
		time.Sleep(time.Hour) // nobody watches
		run(time.Second)
		require.Equal(t, 2, limit.asked)
		require.Len(t, told, 1)
		require.Equal(t, "slow", told[0].Source, "what is known though it was interrupted")
		require.Equal(t, 1, fixed.asked)
	})
}
