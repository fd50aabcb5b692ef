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
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/internal/killtest"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// TestRanksAreKilled: processes end by SIGKILL, and what is computed is what a run without
// failures computes, whatever the policy does about them. Each of the first cases is tried under
// all policies, each of the others under one.
func TestRanksAreKilled(t *testing.T) {
	want := newProgram(t).Result(small()...)
	rng := testseed.Rand(t)
	for i, c := range []struct {
		flags      string
		recoveries int
		left       int // ranks, if nobody is replaced
	}{
		{"-np 8 -kill 3@17", 1, 7},
		{"-np 4 -nodes 2 -kill-node 1@17", 1, 2},
		{"-np 3 -kill 0@0", 1, 2},
		{"-np 3 -die-at 29", 1, 2}, // after the last iteration
		{"-np 4 -kill 1@5,0@17 -freq 4", 2, 2},
		{"-np 4 -nodes 2 -spare-nodes 1 -kill-node 0@5 -kill 2@17", 2, 1},
	} {
		policies := killtest.Recoveries()
		if i > 1 {
			one := rng.IntN(len(policies))
			policies = policies[one : one+1]
		}
		for _, recovery := range policies {
			t.Run(fmt.Sprint(c.flags, " ", recovery), func(t *testing.T) {
				got := newProgram(t).Result(small(append(strings.Fields(c.flags), "-recovery", string(recovery))...)...)
				same(t, want, got)
				require.GreaterOrEqual(t, got.Recoveries, 1)
				require.LessOrEqual(t, got.Recoveries, c.recoveries)
				require.Equal(t, -1, got.RestartedFrom)
				require.Positive(t, got.Overheads.Recovery)
				if recovery == comm.Shrinking {
					require.Equal(t, c.left, got.Ranks)
				}
			})
		}
	}
}

// TestOnTheNodes: no version needs the parallel file system when a node is lost.
func TestOnTheNodes(t *testing.T) {
	want := newProgram(t).Result(small()...)
	for _, recovery := range killtest.Recoveries() {
		p := newProgram(t)
		got := p.Result(small("-np", "6", "-nodes", "3", "-node-path", "nodes", "-levels", "partner:1", "-kill-node", "1@17", "-recovery", string(recovery))...)
		same(t, want, got)
		require.Equal(t, 1, got.Recoveries)
		require.NotContains(t, got.Levels, "pfs")
	}
}

// TestZeroCopy has fields that are large enough for it: what is being written does not change.
func TestZeroCopy(t *testing.T) {
	args := strings.Fields("-edge 26 -iters 8 -np 2")
	want := newProgram(t).Result(args...)
	p := newProgram(t)
	p.Env = append(p.Env, "CRAFT_ASYNC_CHECK=1")
	s := p.Start(append(args, "-async", "zero-copy", "-kill", "1@5", "-json")...).End(0)
	require.Contains(t, s.Stdout.String(), want.Digest)
	require.NotContains(t, s.Stderr.String(), "no checkpoint")
	require.Contains(t, s.Stderr.String(), "the next iteration is 5")
}

// inCluster runs the program on ranks that are goroutines, on nodes, and in which a death
// is that of a goroutine.
func inCluster(t *testing.T, cluster *afttest.Cluster, ranks int, recovery comm.Recovery, cfg config) (r result) {
	var mu sync.Mutex
	var out bytes.Buffer
	cfg.JSON, cfg.Goroutines = true, 1
	require.NoError(t, cluster.Run(t.Context(), ranks, func(ctx context.Context, rank *afttest.Rank) error {
		j := jobs.NewJob(cfg.Loop, io.Discard)
		j.Die = func(int) error {
			rank.Die()
			return nil
		}
		err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error {
			return cfg.solve(ctx, z, j.Rank(z))
		}, append(j.ZoneOptions(), aft.WithRecovery(recovery))...)
		mu.Lock()
		defer mu.Unlock()
		if code := j.End(err, &out); err == nil && code != jobs.ExitDone {
			err = errors.New("the result could not be written")
		}
		return err
	}))
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	return r
}

// parsed are flags of a job whose checkpoints are in a directory of the test.
func parsed(t *testing.T, args ...string) config {
	cfg, err := parseFlags(append(args, "-cp-path", t.TempDir()), io.Discard)
	require.NoError(t, err)
	return cfg
}

// TestRandomDeaths: any ranks may die at any steps, one after the other or at once, on any number of ranks
// and in any mode; then the whole job is started again on another number of ranks and goes on.
func TestRandomDeaths(t *testing.T) {
	rng := testseed.Rand(t)
	const steps, more = 12, 4
	args := []string{"-edge", "6", "-iters", fmt.Sprint(steps + more)}
	want := inCluster(t, &afttest.Cluster{}, 1, comm.Shrinking, parsed(t, args...))
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 1)) * time.Second)
	rounds, recoveries := 0, 0
	for ; rounds < 8 || time.Now().Before(until); rounds++ {
		cfg := parsed(t, args...)
		cfg.Async = []checkpoint.AsyncMode{checkpoint.AsyncOff, checkpoint.AsyncCopy, checkpoint.AsyncZeroCopy}[rng.IntN(3)]
		cfg.Frequency, cfg.Iterations = 1+rng.IntN(3), steps
		ranks := 2 + rng.IntN(8)
		recovery := killtest.Recoveries()[rng.IntN(len(killtest.Recoveries()))]
		for range 1 + rng.IntN(min(3, ranks-1)) {
			cfg.Kills = append(cfg.Kills, jobs.Kill{What: "rank", Number: rng.IntN(ranks), At: rng.IntN(steps)})
		}
		what := fmt.Sprintf("%d ranks, %s, %s, every %d, %v", ranks, recovery, cfg.Async, cfg.Frequency, cfg.Kills)
		got := inCluster(t, &afttest.Cluster{Nodes: 1 + rng.IntN(ranks)}, ranks, recovery, cfg)
		require.Equal(t, steps, got.Iterations, what)
		recoveries += got.Recoveries

		cfg.Kills, cfg.Iterations = nil, steps+more
		got = inCluster(t, &afttest.Cluster{}, 1+rng.IntN(9), recovery, cfg)
		require.Positive(t, got.RestartedFrom, what)
		same(t, want, got, what)
	}
	t.Logf("%d rounds, %d recoveries", rounds, recoveries)
	require.Positive(t, recoveries)
}
