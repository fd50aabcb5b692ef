package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/placement"
)

// TestMemoryPeak: the level mem needs 2*r*n*b/p beside the values and 64 MiB for each rank, seen from outside.
func TestMemoryPeak(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("needs more than a GiB; the race detector memory of its own")
	}
	if proportional() == 0 {
		t.Skip("no /proc/self/smaps_rollup")
	}
	asUser(t, "memory of level mem", userDir(t))
}

// proportional is how much memory this process has, what it has mapped twice only once.
func proportional() (kib int64) {
	rollup, _ := os.ReadFile("/proc/self/smaps_rollup")
	_, after, _ := strings.Cut(string(rollup), "\nPss:")
	_, _ = fmt.Sscan(after, &kib)
	return kib
}

// runMemoryLevel is two ranks on two nodes in one process.
func runMemoryLevel(base string) error {
	const ranks, copies, bytes = 2, 2, 96 << 20
	peak, done := make(chan int64), make(chan struct{})
	go func() {
		var most int64
		for {
			most = max(most, proportional())
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(2 * time.Millisecond): // there is nothing to wait for
			}
		}
	}()
	err := (&afttest.Cluster{Nodes: ranks}).Run(context.Background(), ranks, func(ctx context.Context, r *afttest.Rank) error {
		c, me := r.Comm(), int(r.Comm().Rank())
		data, rng := make([]float64, bytes/8), rand.New(rand.NewPCG(1, uint64(me)))
		cp, err := New("memory", c, WithPath(base), WithNodePath(filepath.Join(base, fmt.Sprint(r.Node()))), withLevels("mem"), WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			return err
		}
		err = errors.Join(cp.Add("data", cptypes.Partitioned(&data, me*len(data), (me+1)*len(data), ranks*len(data))), cp.Commit(), cp.RestartIfNeeded(ctx, nil))
		for range 3 {
			for i := range data {
				data[i] = rng.Float64() // cannot be compressed
			}
			if err == nil {
				err = errors.Join(cp.Write(ctx), cp.Wait(ctx))
			}
		}
		if _, most := placement.Memory(cp.placement); err == nil && most < 2*copies*bytes {
			err = fmt.Errorf("%d bytes at most: there were never two versions", most)
		}
		return errors.Join(err, cp.Close())
	})
	close(done)
	most, allowed := (<-peak)>>10, int64(ranks*(bytes+2*copies*bytes+64<<20)>>20)
	fmt.Fprintf(os.Stderr, "peak %d MiB, allowed are %d\n", most, allowed)
	if most > allowed && err == nil {
		err = fmt.Errorf("peak memory is %d MiB, allowed are %d", most, allowed)
	}
	return err
}
