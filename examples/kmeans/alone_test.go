package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage/replica"
	"github.com/stretchr/testify/require"
)

const (
	aloneVariable = "KMEANS_ALONE" // blocks and bytes of each: submit and load these, and nothing else
	aloneRanks    = 8
	aloneVictim   = 2
)

// alone is a rank that submits blocks and, when one rank has died, loads its share of what that one had.
// Rank 0 prints the seconds, of the slowest rank each.
type alone struct {
	blocks int64
	size   int
	times  restoreTimes
}

func runAlone(what string) error {
	var a alone
	if _, err := fmt.Sscan(what, &a.blocks, &a.size); err != nil {
		return err
	}
	ctx := context.Background()
	if code, started, err := launch.Self(ctx, aloneRanks, func(l *launch.Config) { l.Nodes = aloneRanks }); started {
		if err == nil {
			os.Exit(code)
		}
		return err
	}
	return aft.Run(ctx, a.body, aft.WithLogger(slog.New(slog.DiscardHandler)), aft.WithRecovery(comm.Shrinking))
}

func (a *alone) body(ctx context.Context, z *aft.Zone) error {
	c := z.Comm()
	store, err := replica.Open(ctx, c, "points", replica.Options{Copies: 4, SharedNodes: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if z.Epoch() > 0 {
		return a.load(ctx, c, store)
	}
	share := replica.Even(a.blocks, c.Size(), int(c.Rank()))
	data := make([]byte, int(share.Len())*a.size)
	for i := range data {
		data[i] = byte(i)
	}
	if err := comm.Barrier(ctx, c); err != nil {
		return err
	}
	if err := timed(&a.times.submit, func() error {
		return store.Submit(ctx, replica.Blocks{N: a.blocks, Size: a.size, First: share.Lo, Data: data})
	}); err != nil {
		return err
	}
	// Not a barrier: the first that has passed it dies, and others would fail in it.
	if _, err := c.Agree(ctx, 1); err != nil {
		return err
	}
	if c.Rank() == aloneVictim {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return comm.Barrier(ctx, c)
}

func (a *alone) load(ctx context.Context, c *comm.Comm, store *replica.Store) error {
	lost := []replica.Range{replica.Even(a.blocks, aloneRanks, aloneVictim)}
	if err := comm.Barrier(ctx, c); err != nil {
		return err
	}
	if err := timed(&a.times.load, func() error {
		_, err := store.Load(ctx, nil, replica.Split(lost, c.Size(), int(c.Rank()))...)
		return err
	}); err != nil {
		return err
	}
	seconds := []float64{a.times.submit.Seconds(), a.times.load.Seconds()}
	if err := comm.Allreduce(ctx, c, seconds, seconds, comm.Max[float64]); err != nil || c.Rank() > 0 {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(restore{Submit: seconds[0], Load: seconds[1]})
}

// eightProcesses runs the clustering with a death and the store alone, and returns what ReStore takes of the
// first in percent of the second: submit and load, and all of it.
func eightProcesses(t testing.TB, points int, more ...string) (same, all float64) {
	const dim, perBlock = 32, 256
	p := testprogram.New(t)
	var whole result
	p.JSON(&whole, append([]string{"-json", "-np", strconv.Itoa(aloneRanks), "-nodes", strconv.Itoa(aloneRanks), "-recovery", "SHRINKING",
		"-kill", fmt.Sprintf("%d@5", aloneVictim), "-points", strconv.Itoa(points), "-dim", strconv.Itoa(dim)}, more...)...)
	require.Equal(t, 1, whole.Recoveries)
	require.Equal(t, int64(points/aloneRanks), whole.Restored)
	var rival restore
	p = testprogram.New(t)
	p.Env = []string{fmt.Sprintf("%s=%d %d", aloneVariable, points/perBlock, 8*dim*perBlock)}
	p.JSON(&rival)
	took, r := 100/(rival.Submit+rival.Load), whole.Restore
	return took * (r.Submit + r.Load), took * (r.Open + r.Submit + r.Load + r.Repair)
}

// BenchmarkEightProcesses: one of eight dies. With -benchtime 11x there are as many pairs, of which
// median, lowest and highest are reported.
func BenchmarkEightProcesses(b *testing.B) {
	points := testseed.Number(b, "CRAFT_TEST_BENCH_MIB", 128) << 20 / (32 * 8)
	var same, all []float64
	for b.Loop() {
		s, a := eightProcesses(b, points, "-iters", "50")
		same, all = append(same, s), append(all, a)
	}
	for name, percent := range map[string][]float64{"%alone": same, "%alone-with-open-and-repair": all} {
		slices.Sort(percent)
		b.ReportMetric(percent[len(percent)/2], name)
		b.ReportMetric(percent[0], "lowest-"+name)
		b.ReportMetric(percent[len(percent)-1], "highest-"+name)
	}
}

// TestEightProcesses: what the benchmark compares is there.
func TestEightProcesses(t *testing.T) {
	same, all := eightProcesses(t, 16384, "-iters", "10")
	require.Positive(t, same)
	require.Greater(t, all, same)
}
