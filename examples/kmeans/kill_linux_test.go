package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// In a round fewer ranks are killed than there are.
const (
	killedRanks = 5
	killsAtMost = 3
)

// TestKillAtAnyMoment kills ranks, which are processes, with SIGKILL at any moment, so also
// while points are submitted, loaded or copied anew, and while the world is repaired. The
// clustering is that of a run without failures.
//
//	CRAFT_TEST_SECONDS  how long it goes on at least (2)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
func TestKillAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	rng := testseed.Rand(t)
	args := strings.Fields("-points 30000 -dim 4 -centres 6 -iters 150")
	want := newProgram(t).result(append(args, "-np", fmt.Sprint(killedRanks))...)
	long := time.Duration(want.Seconds * float64(time.Second))
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 2)) * time.Second)
	var rounds, kills, recoveries, late int
	for rounds < 5 || recoveries == 0 || time.Now().Before(until) {
		rounds++
		how := []string{"-np", fmt.Sprint(killedRanks), "-json", "-recovery", []string{"SHRINKING", "NON-SHRINKING"}[rng.IntN(2)], "-copies", fmt.Sprint(1 + rng.IntN(4))}
		p := newProgram(t)
		s := p.Start(append(args[:len(args):len(args)], how...)...)
		p.Eventually(func() bool { // a fast job may have ended already
			return len(ranksOf(t, p.Mark())) == killedRanks || strings.Contains(s.Stdout.String(), "digest")
		})
		killed, began := 0, time.Now()
		for _, at := range moments(rng, long) {
			time.Sleep(time.Until(began.Add(at)))
			killed += killOne(ranksOf(t, p.Mark()), rng.IntN(killedRanks))
		}
		kills += killed
		err := s.Cmd.Wait()
		what := fmt.Sprintf("round %d, %v, %d killed: %v\n%s", rounds, how, killed, err, &s.Stderr)
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

// moments are when somebody is killed, half of them shortly after another one.
func moments(rng *rand.Rand, long time.Duration) (out []time.Duration) {
	for range 1 + rng.IntN(killsAtMost) {
		at := time.Duration(rng.Int64N(int64(long)))
		if n := len(out); n > 0 && rng.IntN(2) == 0 {
			at = out[n-1] + time.Duration(rng.Int64N(int64(30*time.Millisecond)))
		}
		out = append(out, at)
	}
	slices.Sort(out)
	return out
}

// afterTheZone is what the launcher says when a rank was killed that had done its work:
// then nothing is repaired.
var afterTheZone = regexp.MustCompile(`(?m)^kmeans: rank \d+ \(process \d+ on node \d+\): signal: killed`)

// ranksOf are the processes that are ranks.
func ranksOf(t *testing.T, all testprocess.Marked) (ranks []int) {
	for _, p := range all.Processes(t) {
		if p.Variable("CRAFT_ROLE") == "rank" {
			ranks = append(ranks, p.PID)
		}
	}
	return ranks
}

// killOne kills one of the ranks, if there are any.
func killOne(ranks []int, pick int) int {
	if len(ranks) == 0 || syscall.Kill(ranks[pick%len(ranks)], syscall.SIGKILL) != nil {
		return 0
	}
	return 1
}
