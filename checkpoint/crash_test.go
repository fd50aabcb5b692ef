package checkpoint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
)

// withFS replaces the file system, and shortens how long a lock is watched that
// a crash has torn.
func withFS(fsys vfs.FS) Option {
	return func(o *options) {
		o.fs = fsys
		o.lock.Patience = 15 * time.Millisecond
	}
}

// testSeconds is when the time of a random suite is over.
func testSeconds() time.Time {
	seconds, _ := strconv.Atoi(os.Getenv("CRAFT_TEST_SECONDS"))
	return time.Now().Add(time.Duration(seconds) * time.Second)
}

// crashed is a disk as a crash would have left it at some moment.
type crashed struct {
	disk     *vfs.Mem
	after    string // the last operation
	returned int    // the last iteration whose UpdateAndWrite had returned
	keep     float64
}

// crashEverywhere runs the program on a fresh disk and takes, after each
// operation on files, what a crash would leave with nothing, half and all of
// the unsynced data.
func crashEverywhere(t *testing.T, ranks, iters int, mode string, rng *rand.Rand) []crashed {
	disk := vfs.NewMem()
	var returned atomic.Int64
	returned.Store(-1)
	var mu sync.Mutex
	var states []crashed
	disk.OnOp(func(op vfs.Op) {
		mu.Lock()
		defer mu.Unlock()
		for _, keep := range []float64{0, 0.5, 1} {
			done := int(returned.Load()) // before the clone is taken
			states = append(states, crashed{disk: disk.Crash(keep, rng), after: op.String(), returned: done, keep: keep})
		}
	})
	err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		p := newProgram(t, c, true, WithPath("/cp"), withFS(disk), inMode(mode))
		defer p.cp.Close()
		if err := p.cp.RestartIfNeeded(ctx, &p.iter); err != nil {
			return err
		}
		for ; p.iter < iters; p.iter++ {
			if err := p.advance(ctx, 1); err != nil {
				return err
			}
			if c.Rank() == 0 {
				returned.Store(int64(p.iter))
			}
		}
		return nil
	})
	require.NoError(t, err)
	disk.OnOp(nil) // all writers have been joined by Close
	if mode == modes[0] && iters > 3 {
		require.True(t, slices.ContainsFunc(states, func(c crashed) bool { return strings.HasPrefix(c.after, "truncate") }), "no old file was written over")
	}
	return states
}

// What is read after a crash at any moment is exactly the last version that was
// published, or exactly the one that was being written.
func TestCrashAfterEveryOperation(t *testing.T) {
	rng := testseed.Rand(t)
	type job struct {
		mode  string
		ranks int
	}
	var jobs []job
	for _, mode := range modes {
		jobs = append(jobs, job{mode, 1}, job{mode, 3})
	}
	var total outcomes
	for _, j := range choose(rng, jobs, 3) {
		total.add(crashRound(t, j.ranks, 5, j.mode, rng))
	}
	total.report(t, 2)
}

// TestRandomCrashes does the same with random sizes until CRAFT_TEST_SECONDS
// are over; at least two rounds.
func TestRandomCrashes(t *testing.T) {
	rng := testseed.Rand(t)
	until := testSeconds()
	var total outcomes
	rounds := 0
	for ; rounds < 2 || time.Now().Before(until); rounds++ {
		total.add(crashRound(t, 1+rng.IntN(4), 2+rng.IntN(5), modes[rng.IntN(3)], rng))
	}
	total.report(t, rounds)
}

// outcomes counts what restarts after crashes have read.
type outcomes struct{ older, newer int }

func (o *outcomes) add(other outcomes) {
	o.older += other.older
	o.newer += other.newer
}

func (o *outcomes) report(t *testing.T, rounds int) {
	t.Logf("%d crashes in %d rounds: %d read the last published version, %d the one being written", o.older+o.newer, rounds, o.older, o.newer)
	require.NotZero(t, o.older)
	require.NotZero(t, o.newer)
}

func crashRound(t *testing.T, ranks, iters int, mode string, rng *rand.Rand) outcomes {
	states := crashEverywhere(t, ranks, iters, mode, rng)
	require.Greater(t, len(states), 50)
	var o outcomes
	for i, s := range states {
		if raceEnabled && testing.Short() && i%4 != 0 {
			continue // a restart from another image of the disk has the same goroutines
		}
		where := fmt.Sprintf("mode %s, %d ranks, state %d: %s, %v of the unsynced data kept, iteration %d had returned", mode, ranks, i, s.after, s.keep, s.returned)
		got := restartAndFinish(t, s.disk, ranks, iters+2, where, inMode(modes[i%3]))
		older := s.returned
		if mode != "off" && older >= 0 {
			older-- // the next call, or Wait, says that it is complete
		}
		switch got--; {
		case got == older:
			o.older++
		case got == s.returned, got == s.returned+1:
			o.newer++
		default:
			t.Fatalf("%s: restarted behind iteration %d", where, got)
		}
	}
	return o
}

// restartAndFinish restarts the program from a disk, checks what it reads, runs
// it to the end and returns the iteration at which it took up.
func restartAndFinish(t *testing.T, disk vfs.FS, ranks, iters int, where string, opts ...Option) int {
	wantV, wantSums := reference(iters)
	var from atomic.Int64
	err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
		p := newProgram(t, c, true, append(opts, WithPath("/cp"), withFS(disk))...)
		defer p.cp.Close()
		if err := p.cp.RestartIfNeeded(ctx, &p.iter); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		from.Store(int64(p.iter))
		v, sums := reference(p.iter)
		if !slices.Equal(v[p.lo:p.hi], p.v) || !slices.Equal(sums, p.sums) || p.mine != p.iter*(p.iter-1)/2 {
			return fmt.Errorf("%s: what was read is not the state of iteration %d", where, p.iter)
		}
		if err := p.run(ctx, iters, 1); err != nil {
			return fmt.Errorf("%s: going on: %w", where, err)
		}
		if !slices.Equal(wantV[p.lo:p.hi], p.v) || !slices.Equal(wantSums, p.sums) {
			return fmt.Errorf("%s: the result is not that of an undisturbed run", where)
		}
		return nil
	})
	require.NoError(t, err)
	return int(from.Load())
}

// Writers of a dead attempt that finish late never mix with the next attempt.
func TestLateWritersOfADeadAttempt(t *testing.T) {
	rng := testseed.Rand(t)
	for round := range 30 {
		disk := vfs.NewMem()
		// The old attempt dies in its third write: one rank has published its
		// part, the other one is stopped at a random operation of its own.
		stop := 1 + rng.IntN(8)
		release := make(chan struct{})
		stopped := make(chan struct{})
		finished := make(chan struct{})
		over := make(chan struct{})
		var ops atomic.Int64
		var armed atomic.Bool
		late := vfs.WithErrors(disk, func(op vfs.Op) error {
			if armed.Load() && op.Kind.Mutates() && ops.Add(1) == int64(stop) {
				close(stopped)
				<-release
			}
			return nil
		})
		old := make(chan error, 1)
		go func() {
			old <- afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
				var fsys vfs.FS = disk
				if c.Rank() == 1 {
					fsys = late
				}
				p := newProgram(t, c, true, WithPath("/cp"), withFS(fsys))
				defer func() {
					<-over // the dead do not give their lock back
					p.cp.Close()
				}()
				if err := p.run(ctx, 2, 1); err != nil {
					return err
				}
				armed.Store(true)
				err := p.run(ctx, 3, 1)
				if c.Rank() == 1 {
					close(finished)
				}
				return err
			})
		}()
		select {
		case <-stopped:
		case <-finished:
			close(over)
			require.NoError(t, <-old)
			continue // it took fewer operations than that
		}
		// The new attempt starts, and the old writer goes on at some moment.
		go func() {
			for range rng.IntN(2000) {
				_, _ = disk.ReadDir("/cp")
			}
			close(release)
		}()
		alone := vfs.WithErrors(disk, func(vfs.Op) error { return nil }) // passes for another process
		from := restartAndFinish(t, alone, 2, 6, fmt.Sprint("round ", round))
		require.Contains(t, []int{2, 3}, from)
		close(over)
		<-old // may have failed: its directory was cleaned away
		require.Equal(t, 6, restartAndFinish(t, disk, 2, 8, "after all"))
	}
}
