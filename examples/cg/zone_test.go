package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/internal/killtest"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// inCluster runs the program on ranks that are goroutines, on nodes, and in which a death
// is that of a goroutine.
func inCluster(t *testing.T, cluster *afttest.Cluster, ranks int, recovery comm.Recovery, kills jobs.Kills, args ...string) (r result) {
	t.Helper()
	cfg, err := parseFlags(append(args, "-json"), io.Discard)
	require.NoError(t, err)
	cfg.Kills = kills
	var mu sync.Mutex
	var said, out bytes.Buffer
	err = cluster.Run(t.Context(), ranks, func(ctx context.Context, rank *afttest.Rank) error {
		var stdout, stderr bytes.Buffer
		job := jobs.NewJob(cfg.Loop, &stderr)
		job.Die = func(int) error { rank.Die(); return nil }
		err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			return cfg.solve(ctx, z, job.Rank(z))
		}, append(job.ZoneOptions(), aft.WithRecovery(recovery))...)
		if err == nil && job.End(nil, &stdout) != jobs.ExitDone {
			err = errors.New("the job has not ended well")
		}
		mu.Lock()
		defer mu.Unlock()
		said.Write(stderr.Bytes())
		out.Write(stdout.Bytes())
		return err
	})
	require.NoError(t, err, "%s", &said)
	require.NoError(t, json.Unmarshal(out.Bytes(), &r), "%s", &said)
	return r
}

// TestRandomDeaths: any ranks may die after any iterations, under any policy and in any mode, and in a
// job that is started again as well.
func TestRandomDeaths(t *testing.T) {
	t.Setenv("CRAFT_SYNC", "none")
	t.Setenv("CRAFT_ASYNC_CHECK", "1")
	rng := testseed.Rand(t)
	// Large enough for zero-copy.
	args := strings.Fields("-nx 40 -ny 30 -planes 24 -iters 12")
	want := inCluster(t, &afttest.Cluster{}, 1, comm.Shrinking, nil, append(args, "-cp-path", t.TempDir())...)
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 1)) * time.Second)
	rounds, recoveries, restarts := 0, 0, 0
	for ; rounds < 8 || time.Now().Before(until); rounds++ {
		recovery := killtest.Recoveries()[rng.IntN(len(killtest.Recoveries()))]
		mode := jobs.Modes[rng.IntN(len(jobs.Modes))]
		how := append(args[:len(args):len(args)], "-async", string(mode), "-freq", fmt.Sprint(1+rng.IntN(3)), "-cp-path", t.TempDir())
		for start, iterations := range []int{5 + rng.IntN(7), 12} {
			ranks := 2 + rng.IntN(7)
			var kills jobs.Kills
			for range 1 + rng.IntN(ranks-1) {
				kills = append(kills, jobs.Kill{What: "rank", Number: rng.IntN(ranks), At: rng.IntN(iterations)})
			}
			what := fmt.Sprintf("round %d, start %d: %d ranks, %s, %v, %v", rounds, start, ranks, recovery, how, kills)
			got := inCluster(t, &afttest.Cluster{Nodes: 1 + rng.IntN(ranks)}, ranks, recovery, kills, append(how, "-iters", fmt.Sprint(iterations))...)
			recoveries += got.Recoveries
			if got.RestartedFrom >= 0 {
				restarts++
			}
			if iterations == 12 {
				require.Equal(t, want.Digest, got.Digest, what)
				require.Equal(t, want.Residual, got.Residual, what)
				require.Positive(t, got.RestartedFrom, what)
			}
		}
	}
	t.Logf("%d rounds, %d recoveries, %d restarts", rounds, recoveries, restarts)
	require.Positive(t, recoveries)
}

// TestGridIsOfTheStart: replacements learn of those who are left how many ranks there were.
func TestGridIsOfTheStart(t *testing.T) {
	t.Setenv("CRAFT_SYNC", "none")
	args := strings.Fields("-nx 6 -ny 5 -nz 2 -iters 12")
	want := inCluster(t, &afttest.Cluster{}, 6, comm.Shrinking, nil, append(args, "-cp-path", t.TempDir())...)
	require.Equal(t, 12, want.Planes)
	for _, recovery := range killtest.Recoveries() {
		kills := jobs.Kills{{What: "rank", Number: 1, At: 3}, {What: "rank", Number: 2, At: 3}, {What: "rank", Number: 0, At: 7}}
		got := inCluster(t, &afttest.Cluster{}, 6, recovery, kills, append(args, "-cp-path", t.TempDir())...)
		require.Equal(t, want.Digest, got.Digest, recovery)
		require.Equal(t, 12, got.Planes)
		require.GreaterOrEqual(t, got.Recoveries, 2)
	}
	all := jobs.Kills{{What: "rank", Number: 0, At: 3}, {What: "rank", Number: 1, At: 3}}
	got := inCluster(t, &afttest.Cluster{}, 2, comm.NonShrinking, all, append(args, "-cp-path", t.TempDir())...)
	require.Equal(t, 4, got.Planes, "nobody was left to tell")
}
