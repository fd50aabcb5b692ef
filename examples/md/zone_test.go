package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
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
// is that of a goroutine or of a node.
func inCluster(t *testing.T, cluster *afttest.Cluster, ranks int, recovery comm.Recovery, kills jobs.Kills, args ...string) (got result) {
	cfg, err := parseFlags(append(args, "-json"), io.Discard)
	require.NoError(t, err)
	cfg.Kills = kills
	var mu sync.Mutex
	var stdout bytes.Buffer
	err = cluster.Run(t.Context(), ranks, func(ctx context.Context, r *afttest.Rank) error {
		var own bytes.Buffer
		job := jobs.NewJob(cfg.Loop, io.Discard)
		job.Die = func(pid int) error {
			if pid == os.Getpid() {
				r.Die()
			}
			r.KillNode(r.Node())
			return ctx.Err()
		}
		options := append(job.ZoneOptions(), aft.WithRecovery(recovery))
		err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			return cfg.simulate(ctx, z, job.Rank(z))
		}, options...)
		if code := job.End(err, &own); err == nil && code != jobs.ExitDone {
			err = fmt.Errorf("exit code %d", code)
		}
		mu.Lock()
		defer mu.Unlock()
		stdout.Write(own.Bytes())
		return err
	})
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(stdout.String(), "\n"), "one rank prints: %s", &stdout)
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
	return got
}

func rank(number, at int) jobs.Kill { return jobs.Kill{What: "rank", Number: number, At: at} }
func node(number, at int) jobs.Kill { return jobs.Kill{What: "node", Number: number, At: at} }

// TestFailures under each policy: with replacements, and on fewer ranks.
func TestFailures(t *testing.T) {
	t.Setenv("CRAFT_SYNC", "none")
	want := newProgram(t).Result(small()...)
	for _, recovery := range killtest.Recoveries() {
		for _, kills := range []jobs.Kills{
			{rank(2, 7)},
			{rank(0, 0)},               // before there is a checkpoint
			{rank(1, 14), rank(2, 14)}, // after the last step
			{rank(4, 3), rank(0, 9), rank(1, 10)},
			{node(0, 2), rank(4, 8)},
		} {
			got := inCluster(t, &afttest.Cluster{Nodes: 3}, 5, recovery, kills, small("-cp-path", t.TempDir())...)
			same(t, want, got, recovery, kills)
			require.Positive(t, got.Recoveries, "%v %v", recovery, kills)
			switch recovery {
			case comm.Shrinking:
				require.Less(t, got.Ranks, 5, "%v", kills)
			case comm.NonShrinking:
				require.Equal(t, 5, got.Ranks, "%v", kills)
			}
		}
	}
}

// TestRandomFailures, and between them the job ends and is started again with another number of
// ranks.
func TestRandomFailures(t *testing.T) {
	t.Setenv("CRAFT_SYNC", "none")
	rng := testseed.Rand(t)
	want := newProgram(t).Result(small()...)
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 1)) * time.Second)
	rounds, recoveries := 0, 0
	for ; rounds < 5 || recoveries == 0 || time.Now().Before(until); rounds++ {
		dir, frequency := t.TempDir(), fmt.Sprint(1+rng.IntN(3))
		for _, end := range []int{1 + rng.IntN(7), 8 + rng.IntN(7), 15} {
			ranks, nodes := 1+rng.IntN(12), 1+rng.IntN(4)
			recovery := killtest.Recoveries()[rng.IntN(len(killtest.Recoveries()))]
			mode := jobs.Modes[rng.IntN(len(jobs.Modes))]
			kills := randomKills(rng, ranks, end)
			got := inCluster(t, &afttest.Cluster{Nodes: nodes}, ranks, recovery, kills,
				small("-cp-path", dir, "-freq", frequency, "-iters", fmt.Sprint(end), "-async", string(mode))...)
			recoveries += got.Recoveries
			if end == 15 {
				same(t, want, got, "%d ranks on %d nodes, %s, every %s, %s: %v", ranks, nodes, recovery, frequency, mode, kills)
			}
		}
	}
	t.Logf("%d rounds with %d recoveries", rounds, recoveries)
}

// randomKills leave somebody alive.
func randomKills(rng *rand.Rand, ranks, end int) (kills jobs.Kills) {
	for _, number := range rng.Perm(ranks)[:rng.IntN(min(ranks, 4))] {
		kills = append(kills, rank(number, rng.IntN(end)))
	}
	return kills
}
