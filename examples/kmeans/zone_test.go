package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// TestRanksAreKilled: processes end by SIGKILL, and what is found is what a run without
// failures finds, on replacements and on fewer ranks.
func TestRanksAreKilled(t *testing.T) {
	want := newProgram(t).result(small("-ranks", "4")...)
	policies := []comm.Recovery{comm.NonShrinking, comm.Shrinking}
	for i, c := range []struct {
		flags      string
		recoveries int
		shrunk     int // ranks that are left
	}{
		{"-kill 2@17", 1, 3},
		{"-kill 0@0", 1, 3},
		{"-die-at 39", 1, 3}, // after the last iteration
		{"-kill 1@17,2@17", 1, 2},
		{"-kill 1@5 -kill 3@17", 2, 2},
		{"-kill 3@5,0@6,1@7", 3, 1},
		{"-nodes 2 -copies 2 -kill-node 1@17", 1, 2},
		{"-nodes 2 -spare-nodes 1 -kill-node 0@5 -kill 2@17", 2, 1},
	} {
		for j, recovery := range policies {
			if testing.Short() && i%2 != j {
				continue
			}
			t.Run(fmt.Sprint(c.flags, " ", recovery), func(t *testing.T) {
				got := newProgram(t).result(small(append(strings.Fields(c.flags), "-np", "4", "-recovery", string(recovery))...)...)
				same(t, want, got)
				require.GreaterOrEqual(t, got.Recoveries, 1)
				require.LessOrEqual(t, got.Recoveries, max(c.recoveries, strings.Count(c.flags, "@")))
				require.Positive(t, got.Restored)
				require.Zero(t, got.Anew)
				require.Positive(t, got.Restore.Load)
				require.Positive(t, got.Restore.Repair)
				require.Positive(t, got.Recovery)
				if recovery == comm.Shrinking {
					require.Equal(t, c.shrunk, got.Ranks)
				} else {
					require.Equal(t, 4, got.Ranks)
				}
			})
		}
	}
}

// TestReplacementIsKilledToo, before it has done anything but one iteration.
func TestReplacementIsKilledToo(t *testing.T) {
	want := newProgram(t).result(small()...)
	got := newProgram(t).result(small("-np", "3", "-kill", "1@17,1@18")...)
	same(t, want, got)
	require.Equal(t, 2, got.Recoveries)
}

// TestDeployedAgain: nothing of a job without files is there after it has ended; it begins anew, and
// nobody is killed again.
func TestDeployedAgain(t *testing.T) {
	want := newProgram(t).result(small("-ranks", "4")...)
	got := newProgram(t).result(small("-np", "4", "-nodes", "2", "-kill-node", "1@17", "-recovery", "ABORT", "-restarts", "1")...)
	same(t, want, got)
	require.Equal(t, 1, got.Recoveries)
	require.Equal(t, 4, got.Ranks)
	require.Zero(t, got.Restored)
}

// TestAllAreKilled: nobody is left who has points or knows centres.
func TestAllAreKilled(t *testing.T) {
	want := newProgram(t).result(small()...)
	for _, flags := range []string{"-np 3 -kill 0@17,1@17,2@17", "-np 1 -die-at 17"} {
		s := newProgram(t).Start(small(append(strings.Fields(flags), "-json")...)...).End(0)
		require.Contains(t, s.Stdout.String(), want.Digest)
		require.Contains(t, s.Stdout.String(), `"points_anew":6000`)
		require.Contains(t, s.Stderr.String(), "the next iteration is 0")
		require.Contains(t, s.Stderr.String(), "6000 points are in nobody's memory: they are made or read again")
	}
	newProgram(t).Start(small("-ranks", "2", "-die-at", "17")...).End(-int(syscall.SIGKILL))
}

// inCluster runs the program on ranks that are goroutines, on nodes, and in which a death
// is that of a goroutine.
func inCluster(tb testing.TB, cluster *afttest.Cluster, ranks int, recovery comm.Recovery, cfg config) result {
	r, err := tryInCluster(tb, cluster, ranks, recovery, cfg, func() {})
	require.NoError(tb, err)
	return r
}

// tryInCluster is inCluster for runs that may fail. dying is called before each death.
func tryInCluster(tb testing.TB, cluster *afttest.Cluster, ranks int, recovery comm.Recovery, cfg config, dying func()) (r result, err error) {
	var mu sync.Mutex
	quiet := slog.New(slog.DiscardHandler)
	cfg.Goroutines, cfg.CPPath = 1, tb.TempDir()
	err = cluster.Run(tb.Context(), ranks, func(ctx context.Context, rank *afttest.Rank) error {
		j := newJob(cfg, io.Discard, quiet)
		j.die = func(int) error {
			dying()
			rank.Die()
			return nil
		}
		err := aft.Run(ctx, j.attempt, aft.WithLogger(quiet), aft.WithRecovery(recovery))
		mu.Lock()
		defer mu.Unlock()
		if w := j.workers[0]; err == nil && w.rank == 0 {
			r = w.result
		}
		return err
	})
	return r, err
}

func parsed(tb testing.TB, args ...string) config {
	cfg, err := parseFlags(args, io.Discard)
	require.NoError(tb, err)
	return cfg
}

// TestAHundredRanks, of which some fail at random, as in the paper (section VI-C).
func TestAHundredRanks(t *testing.T) {
	cfg := parsed(t, "-points", "40000", "-dim", "4", "-centres", "5", "-iters", "60")
	want := inCluster(t, &afttest.Cluster{}, 1, comm.Shrinking, cfg)
	ranks, share := 100, 0.03
	if testing.Short() {
		ranks, share = 20, 0.15
	}
	cfg.failures = share
	got := inCluster(t, &afttest.Cluster{}, ranks, comm.Shrinking, cfg)
	same(t, want, got)
	require.Positive(t, got.Recoveries)
	require.LessOrEqual(t, got.Ranks, ranks-got.Recoveries)
	require.Positive(t, got.Restored)
	require.Zero(t, got.Anew)
}

// TestRandomDeaths: any ranks and nodes may die at any time, so that points are lost with all
// of their copies, too.
func TestRandomDeaths(t *testing.T) {
	rng := testseed.Rand(t)
	args := small("-iters", "12")
	want := inCluster(t, &afttest.Cluster{}, 1, comm.Shrinking, parsed(t, args...))
	anew, restored := int64(0), int64(0)
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 1)) * time.Second)
	rounds := 0
	for ; rounds < 10 || anew == 0 || time.Now().Before(until); rounds++ {
		cfg := parsed(t, append(args, "-copies", fmt.Sprint(1+rng.IntN(4)))...)
		ranks := 2 + rng.IntN(9)
		recovery := []comm.Recovery{comm.Shrinking, comm.NonShrinking}[rng.IntN(2)]
		for range 1 + rng.IntN(ranks-1) {
			cfg.kills = append(cfg.kills, jobs.Kill{What: "rank", Number: rng.IntN(ranks), At: rng.IntN(12)})
		}
		what := fmt.Sprintf("%d ranks, %s, %d copies, %v", ranks, recovery, cfg.copies, cfg.kills)
		got := inCluster(t, &afttest.Cluster{Nodes: 1 + rng.IntN(ranks)}, ranks, recovery, cfg)
		require.Equal(t, want.Digest, got.Digest, what)
		anew, restored = anew+got.Anew, restored+got.Restored
	}
	t.Logf("%d rounds, %d points came from memory, %d were made again", rounds, restored, anew)
	require.Positive(t, restored)
}

// TestLostPointsAreSubmittedAgain: ranks 0 and 2 have both copies of half of the points, and
// what was made again has copies when the next rank fails.
func TestLostPointsAreSubmittedAgain(t *testing.T) {
	cfg := parsed(t, strings.Fields("-points 16384 -dim 32 -centres 5 -iters 8 -copies 2")...)
	want := inCluster(t, &afttest.Cluster{}, 1, comm.Shrinking, cfg)
	kill := func(rank, at int) { cfg.kills = append(cfg.kills, jobs.Kill{What: "rank", Number: rank, At: at}) }
	kill(0, 2)
	kill(2, 2)
	kill(1, 5)
	got := inCluster(t, &afttest.Cluster{Nodes: 4}, 4, comm.Shrinking, cfg)
	same(t, want, got)
	require.Equal(t, 1, got.Ranks)
	require.Positive(t, got.Anew)
	require.LessOrEqual(t, got.Anew, int64(16384/4), "no more than half of what ranks 0 and 2 had")
	require.Equal(t, int64(16384), got.Restored+got.Anew+16384/4)
}

// BenchmarkHundredRanks is the run of the paper in small: 1 % of the ranks fails. The share of
// the time in ReStore is what it is about; ranks share the processors.
func BenchmarkHundredRanks(b *testing.B) {
	mib := testseed.Number(b, "CRAFT_TEST_BENCH_MIB", 200)
	cfg := parsed(b, "-points", fmt.Sprint(mib<<20/(32*8)), "-dim", "32", "-centres", "20", "-iters", "500")
	cfg.failures = 0.01
	for b.Loop() {
		began := b.Elapsed()
		r := inCluster(b, &afttest.Cluster{}, 100, comm.Shrinking, cfg)
		r.over(b.Elapsed() - began)
		b.ReportMetric(r.Percent, "restore-%")
		b.ReportMetric(float64(100-r.Ranks), "failed")
		b.Logf("%.1f s, %d ranks of 100 left; open %.3f s, submit %.3f s, load %.3f s, repair %.3f s; recovery of the communicator %.3f s",
			r.Seconds, r.Ranks, r.Restore.Open, r.Restore.Submit, r.Restore.Load, r.Restore.Repair, r.Recovery)
	}
}
