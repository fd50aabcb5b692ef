package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// TestProcessesAreKilled: ranks and nodes end by SIGKILL, under each policy.
func TestProcessesAreKilled(t *testing.T) {
	want := newProgram(t).result(small()...)
	for _, recovery := range comm.Recoveries() {
		for _, c := range []struct {
			flags string
			left  int // when it shrinks
		}{
			{"-kill 2@7", 3},
			{"-kill 0@3,1@9", 2},
			{"-nodes 2 -kill-node 1@7", 2},
			{"-nodes 2 -spare-nodes 1 -kill-node 0@5 -kill 2@9", 1},
		} {
			got := newProgram(t).result(small(append(strings.Fields(c.flags), "-np", "4", "-recovery", string(recovery))...)...)
			same(t, want, got, recovery, c.flags)
			require.Positive(t, got.Recoveries)
			if recovery == comm.Shrinking {
				require.Equal(t, c.left, got.Ranks, c.flags)
			} else {
				require.Equal(t, 4, got.Ranks, c.flags)
			}
		}
	}
}

// TestKillAtAnyMoment kills ranks and nodes with SIGKILL at any moment, so also while atoms
// are on their way, a checkpoint is written or read, or the world is repaired.
//
//	CRAFT_TEST_SECONDS  how long it goes on at least (1)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
func TestKillAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	rng := testseed.Rand(t)
	args := small("-iters", "60", "-np", "5", "-nodes", "3", "-spare-nodes", "1", "-json")
	want := newProgram(t).result(args...)
	long := time.Duration(want.Seconds * float64(time.Second))
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 1)) * time.Second)
	var rounds, kills, recoveries, late int
	for rounds < 3 || recoveries == 0 || time.Now().Before(until) {
		rounds++
		recovery := comm.Recoveries()[rng.IntN(len(comm.Recoveries()))]
		p := newProgram(t)
		s := p.Start(append(args, "-recovery", string(recovery))...)
		over := func() bool { return strings.Contains(s.Stdout.String(), "digest") } // a fast job
		p.Eventually(func() bool { return over() || len(p.ranks()) == 5 })
		killed, began := 0, time.Now()
		for _, at := range moments(rng, long) {
			time.Sleep(time.Until(began.Add(at)))
			killed += p.killOne(rng)
		}
		kills += killed
		err := s.Cmd.Wait()
		what := fmt.Sprintf("round %d, %v, %d killed: %v\n%s", rounds, recovery, killed, err, &s.Stderr)
		if err != nil && killed > 0 && afterTheZone.MatchString(s.Stderr.String()) {
			late++
			continue
		}
		require.NoError(t, err, what)
		var got result
		require.NoError(t, json.Unmarshal([]byte(s.Stdout.String()), &got), what)
		require.Equal(t, want.Digest, got.Digest, what)
		recoveries += got.Recoveries
	}
	t.Logf("%d rounds with %d kills, %d recoveries; %d jobs ended by a kill after their zone", rounds, kills, recoveries, late)
}

// moments are when somebody is killed, the second time often shortly after the first one.
func moments(rng *rand.Rand, long time.Duration) (out []time.Duration) {
	out = append(out, time.Duration(rng.Int64N(int64(long))))
	switch rng.IntN(3) {
	case 0:
		return append(out, out[0]+time.Duration(rng.Int64N(int64(30*time.Millisecond))))
	case 1:
		return append(out, out[0]+time.Duration(rng.Int64N(int64(long))))
	}
	return out
}

// afterTheZone is what the launcher says when somebody was killed who had done its work:
// then nothing is repaired.
var afterTheZone = regexp.MustCompile(`(?m)^(md: )?rank \d+ \(process \d+ on node \d+\): (signal: killed|node lost)`)

// ranks are their processes.
func (p *program) ranks() (ranks []int) {
	for _, node := range p.Mark().Nodes(p.T) {
		ranks = append(ranks, node.Ranks...)
	}
	return ranks
}

// killOne kills a rank, or the daemon of a node, if there are any. Of two nodes one is left.
func (p *program) killOne(rng *rand.Rand) int {
	nodes := p.Mark().Nodes(p.T)
	if len(nodes) == 0 {
		return 0
	}
	node := nodes[rng.IntN(len(nodes))]
	pid := node.Ranks[rng.IntN(len(node.Ranks))]
	switch {
	case len(nodes) > 1 && rng.IntN(3) == 0:
		pid = node.Daemon
	case len(nodes) == 1 && len(node.Ranks) == 1: // the last one
		return 0
	}
	if syscall.Kill(pid, syscall.SIGKILL) != nil {
		return 0
	}
	return 1
}
