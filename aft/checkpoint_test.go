package aft_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
)

const (
	cells      = 20000 // large enough for zero-copy
	iterations = 30
	frequency  = 4
)

// sumTask is a job whose result depends on every step having been done once: a
// partitioned vector grows by its step's number and by the sum over all.
type sumTask struct {
	dir    string
	mode   checkpoint.AsyncMode
	deaths func(iter int) // may kill
	begins func(r comm.Rank, iter int)

	done func(r comm.Rank, total float64)
}

func (k *sumTask) body(ctx context.Context, z *aft.Zone) error {
	c := z.Comm()
	lo, hi := cells*int(c.Rank())/c.Size(), cells*(int(c.Rank())+1)/c.Size()
	v := make([]float64, hi-lo)
	total := 0.0
	cp, err := checkpoint.New("task", c, checkpoint.WithPath(k.dir), checkpoint.WithAsync(k.mode), checkpoint.WithSync(checkpoint.SyncNone),
		checkpoint.WithLogger(slog.New(slog.DiscardHandler)), checkpoint.WithDrainTimeout(10*time.Second))
	if err != nil {
		return err
	}
	_ = cp.Add("v", cptypes.Partitioned(&v, lo, hi, cells))
	_ = cp.Add("total", cptypes.Replicated(&total))
	if err := cp.Commit(); err != nil {
		return err
	}
	iter := 0
	if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
		return err
	}
	if k.begins != nil {
		k.begins(c.Rank(), iter)
	}
	for ; iter < iterations; iter++ {
		z.Step(iter)
		k.deaths(iter)
		local := 0.0
		for i := range v {
			v[i] += float64(iter * (lo + i) % 7)
			local += v[i]
		}
		sum, err := comm.AllreduceOne(ctx, c, local, comm.Sum[float64]) // whole numbers: exact in any order
		if err != nil {
			return err
		}
		total += sum
		if err := cp.UpdateAndWrite(ctx, iter, frequency); err != nil {
			return err
		}
		if err := cp.Wait(ctx); k.mode == checkpoint.AsyncZeroCopy && err != nil {
			return err
		}
	}
	k.done(c.Rank(), total)
	return nil // the zone closes the checkpoint
}

// undisturbed is the result in one piece.
func undisturbed() float64 {
	v, total := make([]float64, cells), 0.0
	for iter := range iterations {
		for i := range v {
			v[i] += float64(iter * i % 7)
			total += v[i]
		}
	}
	return total
}

// Random ranks die at random steps, again and again, with every kind of
// checkpoint and both policies.
func TestCheckpointsInAZone(t *testing.T) {
	rng := testseed.Rand(t)
	want := undisturbed()
	until, rounds := testSeconds(t), 0
	for first := true; first || time.Now().Before(until); first = false {
		for _, recovery := range []comm.Recovery{comm.NonShrinking, comm.Shrinking} {
			for _, mode := range []checkpoint.AsyncMode{checkpoint.AsyncOff, checkpoint.AsyncCopy, checkpoint.AsyncZeroCopy} {
				t.Run(fmt.Sprint(recovery, " ", mode), func(t *testing.T) { taskRound(t, rng, recovery, mode, want) })
				rounds++
			}
		}
	}
	t.Logf("%d rounds", rounds)
}

func testSeconds(t *testing.T) time.Time {
	seconds := 0
	if text := os.Getenv("CRAFT_TEST_SECONDS"); text != "" {
		var err error
		seconds, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	return time.Now().Add(time.Duration(seconds) * time.Second)
}

func taskRound(t *testing.T, rng *rand.Rand, recovery comm.Recovery, mode checkpoint.AsyncMode, want float64) {
	const ranks = 4
	var mu sync.Mutex
	results := make(map[comm.Rank]float64)
	k := &sumTask{dir: t.TempDir(), mode: mode, done: func(r comm.Rank, total float64) {
		mu.Lock()
		defer mu.Unlock()
		results[r] = total
	}}
	left := 1 + rng.IntN(3)
	fresh := false // rank 0 has waited for no repair, and need not have heard how long others have
	fatal := rng.IntN(iterations)
	kill := func(s *fakeSession, iter int) {
		mu.Lock()
		if left == 0 || iter != fatal {
			mu.Unlock()
			return
		}
		left--
		victim := comm.OriginalRank(rng.IntN(ranks))
		fatal = min(fatal+rng.IntN(4), iterations-1)
		mu.Unlock()
		if s.job.kill(victim) && victim == 0 {
			fresh = recovery == comm.NonShrinking
		}
	}
	j := runJob(t, ranks, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
		mine := *k
		mine.deaths = func(iter int) { kill(s, iter) }
		return mine.body(ctx, z)
	}, aft.WithRecovery(recovery)))
	for r, errs := range j.results {
		require.NoError(t, errs[0], "rank %d", r)
	}
	require.Zero(t, left)
	size := len(j.world.originals)
	for r := range size {
		require.Equal(t, want, results[comm.Rank(r)], "rank %d of %d after %d deaths", r, size, j.deaths)
	}
	records, err := filestore.Records(vfs.OS(), filepath.Join(k.dir, "task"))
	require.NoError(t, err)
	last := records[len(records)-1]
	require.Equal(t, j.world.epoch, last.Recoveries)
	require.NotNil(t, last.Ended)
	require.NoFileExists(t, filepath.Join(k.dir, "task", filestore.LockName))
	if j.world.epoch > 0 && !fresh {
		require.Positive(t, last.Overheads.Recovery)
	}
}

// CRAFT_READ_CP_ON_RESTART=0 is about the start of a job. Its recoveries go on from what
// the job has written, and from nothing older.
func TestReadOnRestartIsAboutTheStart(t *testing.T) {
	want := undisturbed()
	k := &sumTask{dir: t.TempDir(), mode: checkpoint.AsyncOff, deaths: func(int) {}, done: func(_ comm.Rank, total float64) { require.Equal(t, want, total) }}
	run := func(fatal int) (begins []int) {
		var mu sync.Mutex
		left := 1
		j := runJob(t, 3, zone(t.Context(), func(ctx context.Context, z *aft.Zone, s *fakeSession) error {
			mine := *k
			mine.begins = func(r comm.Rank, iter int) {
				mu.Lock()
				defer mu.Unlock()
				if r == 0 {
					begins = append(begins, iter)
				}
			}
			mine.deaths = func(iter int) {
				mu.Lock()
				dies := iter == fatal && left > 0
				if dies {
					left--
				}
				mu.Unlock()
				if dies {
					s.job.kill(1)
				}
			}
			return mine.body(ctx, z)
		}))
		for r, errs := range j.results {
			require.NoError(t, errs[0], "rank %d", r)
		}
		return begins
	}
	require.Equal(t, []int{0}, run(-1))
	t.Setenv("CRAFT_READ_CP_ON_RESTART", "0")
	require.Equal(t, []int{0}, run(-1), "it starts again")
	require.Equal(t, []int{0, 0}, run(0), "nothing older than the job")
	require.Equal(t, []int{0, 9}, run(10), "what the job has written")
}
