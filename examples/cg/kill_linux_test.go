package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/internal/killtest"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// TestRanksAndNodesAreKilled: processes end by SIGKILL, and what is found is what a run without
// failures finds, under any policy and in any mode. Each of the first cases is tried under
// all policies, each of the others under one.
func TestRanksAndNodesAreKilled(t *testing.T) {
	want := newProgram(t).Result(small()...)
	rng := testseed.Rand(t)
	for i, c := range []struct {
		flags      string
		recoveries int
		shrunk     int // ranks that are left
	}{
		{"-kill 2@17", 1, 3},
		{"-nodes 2 -kill-node 1@17", 1, 2},
		{"-kill 0@0", 1, 3},
		{"-die-at 24", 1, 3}, // after the last iteration
		{"-kill 1@17,2@17", 1, 2},
		{"-kill 1@5 -kill 3@17", 2, 2},
		{"-kill 3@5,0@6,1@7", 3, 1},
		{"-nodes 2 -spare-nodes 1 -kill-node 0@5 -kill 2@17", 2, 1},
	} {
		policies := killtest.Recoveries()
		if i > 1 {
			one := rng.IntN(len(policies))
			policies = policies[one : one+1]
		}
		for _, recovery := range policies {
			mode := jobs.Modes[rng.IntN(len(jobs.Modes))]
			t.Run(fmt.Sprint(c.flags, " ", recovery, " ", mode), func(t *testing.T) {
				p := newProgram(t)
				args := small(append(strings.Fields(c.flags), "-np", "4", "-recovery", string(recovery), "-async", string(mode))...)
				got := p.Result(args...)
				same(t, want, got)
				require.Equal(t, -1, got.RestartedFrom)
				require.GreaterOrEqual(t, got.Recoveries, 1)
				require.LessOrEqual(t, got.Recoveries, max(c.recoveries, strings.Count(c.flags, "@")))
				require.Positive(t, got.Overheads.Recovery)
				if recovery == comm.Shrinking {
					require.Equal(t, c.shrunk, got.Ranks)
				}
				if recovery == comm.NonShrinking {
					require.Equal(t, 4, got.Ranks)
				}
				same(t, want, p.Result(args...)) // on as many ranks as at first, from the last checkpoint
			})
		}
	}
}

// TestOnTheNodes: the versions of a node that is killed come from copies on others.
func TestOnTheNodes(t *testing.T) {
	want := newProgram(t).Result(small()...)
	for _, recovery := range killtest.Recoveries() {
		p := newProgram(t)
		got := p.Result(small(strings.Fields("-np 4 -nodes 2 -spare-nodes 1 -kill-node 1@13 -levels partner:1,pfs:1000 -node-path nodes -recovery " + string(recovery))...)...)
		same(t, want, got)
		require.Equal(t, 1, got.Recoveries)
	}
}

// TestKillAtAnyMoment of ranks that are processes, so also while planes are read on fewer
// ranks. Package killtest says how it is controlled.
func TestKillAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	args := strings.Fields("-nx 20 -ny 20 -planes 20 -iters 60")
	killtest.Ranks(t, args, func(rng *rand.Rand) []string {
		return []string{"-async", string(jobs.Modes[rng.IntN(len(jobs.Modes))])}
	})
}
