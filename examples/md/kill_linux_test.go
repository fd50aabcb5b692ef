package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/internal/killtest"
	"github.com/stretchr/testify/require"
)

// TestProcessesAreKilled: ranks and nodes end by SIGKILL, under each policy.
func TestProcessesAreKilled(t *testing.T) {
	want := newProgram(t).Result(small()...)
	for _, recovery := range killtest.Recoveries() {
		for _, c := range []struct {
			flags string
			left  int // when it shrinks
		}{
			{"-kill 2@7", 3},
			{"-kill 0@3,1@9", 2},
			{"-nodes 2 -kill-node 1@7", 2},
			{"-nodes 2 -spare-nodes 1 -kill-node 0@5 -kill 2@9", 1},
		} {
			got := newProgram(t).Result(small(append(strings.Fields(c.flags), "-np", "4", "-recovery", string(recovery))...)...)
			same(t, want, got, recovery, c.flags)
			require.Positive(t, got.Recoveries)
			switch recovery {
			case comm.Shrinking:
				require.Equal(t, c.left, got.Ranks, c.flags)
			case comm.NonShrinking:
				require.Equal(t, 4, got.Ranks, c.flags)
			}
		}
	}
}

// TestOnTheNodes: the versions of a node that is killed come from copies on others, and the parts of
// the ranks that are left are other ones.
func TestOnTheNodes(t *testing.T) {
	want := newProgram(t).Result(small()...)
	for i, recovery := range killtest.Recoveries() {
		level := []string{"partner:1,pfs:1000", "mem:1"}[i%2]
		got := newProgram(t).Result(small("-np", "4", "-nodes", "4", "-kill-node", "1@9", "-levels", level, "-node-path", "nodes", "-recovery", string(recovery))...)
		same(t, want, got, recovery)
		require.Equal(t, 1, got.Recoveries)
	}
}

// TestKillAtAnyMoment kills ranks at any moment, so also while atoms are on their way, a checkpoint
// is written or read, or the world is repaired; in some rounds a node as well.
func TestKillAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	killtest.Ranks(t, small("-iters", "40"), func(rng *rand.Rand) []string {
		if rng.IntN(2) == 0 {
			return nil
		}
		return []string{"-nodes", "5", "-kill-node", fmt.Sprintf("%d@%d", rng.IntN(5), rng.IntN(40))} // one rank on each
	})
}
