package checkpoint

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint/internal/tempo"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
)

// planned is a job that knows its deadline, on a clock that counts nothing but its steps and its versions.
type planned struct {
	step  func(iter int) time.Duration
	cost  time.Duration // of a version
	skew  time.Duration // that the second rank is slower by, in each step
	ranks int           // 0: it is one process
	every int
	left  time.Duration // when it begins
	mode  AsyncMode
}

// ofStep are steps that are all the same.
func ofStep(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

// growing are steps of which each one takes longer than the one before, by one part of so many.
func growing(first time.Duration, part int64) func(int) time.Duration {
	return func(iter int) time.Duration {
		for d := first; ; iter-- {
			if iter == 0 {
				return d
			}
			d += d / time.Duration(part)
		}
	}
}

// run is a rank of it, and returns the longest step of late.
func (j planned) run(ctx context.Context, c *comm.Comm, asks func(), opts ...Option) (longest time.Duration, err error) {
	cp, err := New("loop", c, append(opts, WithPath("/cp"), WithAsync(j.mode))...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cp.Close()) }()
	sum, began := uint64(0), time.Now()
	if err := errors.Join(cp.Add("sum", &slow{&sum, j.cost}), cp.Commit(), cp.RestartIfNeeded(ctx, nil)); err != nil {
		return 0, err
	}
	var steps []time.Duration
	for iter := 0; ; iter++ {
		takes := j.step(iter) + j.skew*time.Duration(int(c.Rank())%2)
		if steps = append(steps, takes); len(steps) > tempo.Window {
			steps = steps[1:]
		}
		if j.mode == AsyncZeroCopy {
			if err := cp.Wait(ctx); err != nil {
				return 0, err
			}
		}
		time.Sleep(takes)
		if asks(); time.Since(began) > 3*j.left {
			return 0, errors.New("it does not end")
		}
		if err := cp.UpdateAndWrite(ctx, iter, j.every); err != nil {
			for _, s := range steps {
				longest = max(longest, s)
			}
			return longest, err
		}
	}
}

// TestPlannedEnd: a deadline that is known before is kept, and used: what is left of it at the end is at most twice what the
// end needs, and two seconds.
func TestPlannedEnd(t *testing.T) {
	for name, j := range map[string]planned{
		"short steps":           {step: ofStep(time.Millisecond), every: 5000, left: 21 * time.Second},
		"seldom a version":      {step: ofStep(time.Millisecond), every: 1 << 30, left: 10 * time.Second},
		"half a second":         {step: ofStep(500 * time.Millisecond), every: 100},
		"two seconds":           {step: ofStep(2 * time.Second), every: 10},
		"a version at each":     {step: ofStep(2 * time.Second), every: 1},
		"growing":               {step: growing(time.Millisecond, 20), every: 1000},
		"growing long ones":     {step: growing(500*time.Millisecond, 50), every: 10},
		"ranks":                 {step: ofStep(500 * time.Millisecond), every: 100, ranks: 4},
		"ranks that are skewed": {step: ofStep(100 * time.Millisecond), every: 20, ranks: 4, skew: 50 * time.Millisecond},
		"that meet at each":     {step: ofStep(time.Second), every: 1, ranks: 2, skew: 3 * time.Second},
	} {
		for _, mode := range allModes {
			j.mode, j.cost = mode, time.Second
			if j.left == 0 {
				j.left = 3 * time.Minute
			}
			t.Run(name+"/"+string(mode), func(t *testing.T) { synctest.Test(t, j.keepsAndUses) })
		}
	}
}

// TestPlannedEndAndAVersionBefore: it is kept and used also where a version that is due anyhow is on its way when it comes
// near, whose writing takes longer than the steps between, or waits for a rank that is slower.
func TestPlannedEndAndAVersionBefore(t *testing.T) {
	for name, j := range map[string]planned{
		"one process":  {step: ofStep(time.Second), cost: 10 * time.Second, every: 15},
		"ranks":        {step: ofStep(time.Second), cost: 10 * time.Second, every: 15, ranks: 2},
		"skewed ranks": {step: ofStep(time.Second), cost: time.Second, every: 1, ranks: 2, skew: 9 * time.Second},
	} {
		for j.left = 60 * time.Second; j.left < 90*time.Second; j.left += 500 * time.Millisecond {
			for _, j.mode = range allModes {
				t.Run(fmt.Sprintf("%s/%v/%s", name, j.left, j.mode), func(t *testing.T) { synctest.Test(t, j.keepsAndUses) })
			}
		}
	}
}

func (j planned) keepsAndUses(t *testing.T) {
	began := time.Now()
	var cluster afttest.Cluster
	ask, once := cluster.Ask, sync.Once{}
	asks := func() {
		once.Do(func() {
			ask(demand.Demand{Cause: demand.Deadline, Planned: true, Source: "CRAFT_DEADLINE", Left: j.left - time.Since(began)})
		})
	}
	longest, skew := time.Duration(0), time.Duration(0)
	var err error
	var log syncBuffer
	opts := []Option{withFS(vfs.NewMem()), WithLogger(slog.New(slog.NewTextHandler(&log, nil)))}
	if j.ranks == 0 {
		p := demand.NewLocal()
		ask = p.Ask
		longest, err = j.run(t.Context(), comm.Self(), asks, append(opts, withPoint(p))...)
	} else {
		steps := make([]time.Duration, j.ranks)
		err = cluster.Run(t.Context(), j.ranks, func(ctx context.Context, r *afttest.Rank) (err error) {
			steps[r.Comm().Rank()], err = j.run(ctx, r.Comm(), asks, opts...)
			return err
		})
		longest, skew = slices.Max(steps), j.skew*time.Duration(j.every)
		if j.mode == AsyncCopy {
			skew *= 2 // they wait for each other when the next version is due
		}
	}
	var d *DeadlineError
	require.ErrorAs(t, err, &d)
	require.True(t, d.Saved)
	require.NoError(t, d.Err)
	took := time.Since(began)
	require.LessOrEqual(t, took, j.left, "it has not kept its deadline")
	allowed := 2*(j.cost+longest+skew) + 2*time.Second
	require.LessOrEqual(t, j.left-took, allowed, "so much is not used: it has given away time; steps of up to %v", longest)
	require.NotContains(t, log.String(), "the time to save is over")
	t.Logf("steps of up to %v: %v of %v are left, %v would be allowed", longest, j.left-took, j.left, allowed)
}

// TestToldOfARankThatDoesNotCome: who saves already waits for it, and tells before the job may be killed that nothing is saved.
func TestToldOfARankThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cluster afttest.Cluster
		var log syncBuffer
		disk, deadline := vfs.NewMem(), make(chan time.Time, 1)
		err := cluster.Run(t.Context(), 2, func(ctx context.Context, r *afttest.Rank) (err error) {
			cp, err := New("loop", r.Comm(), WithPath("/cp"), withFS(disk), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			require.NoError(t, err)
			defer func() { err = errors.Join(err, cp.Close()) }()
			sum := uint64(0)
			require.NoError(t, errors.Join(cp.Add("sum", &slow{&sum, time.Second}), cp.Commit(), cp.RestartIfNeeded(ctx, nil)))
			for iter := 0; ; iter++ {
				time.Sleep(100 * time.Millisecond)
				if iter == 50 && r.Comm().Rank() == 0 {
					cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: 20 * time.Second})
					deadline <- time.Now().Add(20 * time.Second)
				} else if iter == 50 {
					at := <-deadline
					time.Sleep(time.Until(at) - 5*time.Second)
					require.NotContains(t, log.String(), "the time to save is over")
					time.Sleep(time.Until(at))
					require.Contains(t, log.String(), "the time to save is over, and the last version is not stored yet: not all ranks have come")
					require.Contains(t, log.String(), "restart_iteration=1 ")
				}
				if err := cp.UpdateAndWrite(ctx, iter, 100); err != nil {
					return err
				}
			}
		})
		require.ErrorIs(t, err, ErrDeadline)
	})
}

// slow is a number that a version takes long for.
type slow struct {
	n     *uint64
	takes time.Duration
}

// Update is called before the number is stored.
func (s *slow) Update() error {
	time.Sleep(s.takes)
	return nil
}

func (s *slow) WriteTo(w io.Writer) (int64, error) {
	return 8, binary.Write(w, binary.LittleEndian, *s.n)
}

func (s *slow) ReadFrom(r io.Reader) (int64, error) {
	return 8, binary.Read(r, binary.LittleEndian, s.n)
}
