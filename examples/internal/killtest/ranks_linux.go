package killtest

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
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// In a round fewer ranks are killed than there are, also if two of them are with a node.
const (
	killedRanks = 5
	killedNodes = 3
	killsAtMost = 3
)

// Ranks runs a program again and again on ranks that are processes, under any policy of
// recovery, and kills some of them with SIGKILL at any moment, so also while they begin, and
// while the world is repaired. Each job ends with the digest of an undisturbed one. more are
// further arguments of a round.
//
//	CRAFT_TEST_SECONDS  how long it goes on at least (2)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
func Ranks(t *testing.T, args []string, more func(rng *rand.Rand) []string) {
	atAnyMoment(t, args, more, "rank")
}

// RanksAndNodes is Ranks where one of those that are killed in a round may be a node.
func RanksAndNodes(t *testing.T, args []string, more func(rng *rand.Rand) []string) {
	atAnyMoment(t, append(args[:len(args):len(args)], "-nodes", fmt.Sprint(killedNodes)), more, "rank", "daemon")
}

// atAnyMoment kills processes that have the first role; one in each round has any of them.
func atAnyMoment(t *testing.T, args []string, more func(rng *rand.Rand) []string, roles ...string) {
	rng := testseed.Rand(t)
	args = append(args[:len(args):len(args)], "-json", "-np", fmt.Sprint(killedRanks))
	undisturbed := testprogram.New(t)
	undisturbed.Env = environment
	var want jobResult
	require.NoError(t, json.Unmarshal([]byte(undisturbed.Start(args...).End(0).Stdout.String()), &want))
	long := time.Duration(want.Seconds * float64(time.Second))
	until := time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 2)) * time.Second)
	var rounds, kills, recoveries, late, givenUp int
	for rounds < 5 || recoveries == 0 || time.Now().Before(until) {
		rounds++
		policies := Recoveries()
		how := append(more(rng), "-recovery", string(policies[rng.IntN(len(policies))]))
		p := testprogram.New(t)
		p.Env = environment
		s := p.Start(append(args[:len(args):len(args)], how...)...)
		p.Eventually(func() bool { // a fast job may have ended already
			return len(having(t, p.Mark(), "rank")) == killedRanks || strings.Contains(s.Stdout.String(), "digest")
		})
		killed, began := 0, time.Now()
		role := roles[rng.IntN(len(roles))]
		for _, at := range moments(rng, long) {
			time.Sleep(time.Until(began.Add(at)))
			killed += killOne(having(t, p.Mark(), role), rng.IntN(killedRanks))
			role = roles[0]
		}
		kills += killed
		err := s.Cmd.Wait()
		what := fmt.Sprintf("round %d, %v, %d killed: %v\n%s", rounds, how, killed, err, &s.Stderr)
		switch stderr := s.Stderr.String(); {
		case err == nil:
		case killed > 0 && afterTheZone.MatchString(stderr):
			late++
			continue
		case killed == killsAtMost && oneRankEachTime.MatchString(stderr):
			givenUp++
			s = p.Start(append(args[:len(args):len(args)], how...)...)
			err = s.Cmd.Wait()
			what += fmt.Sprintf("\nand again: %v\n%s", err, &s.Stderr)
		}
		require.NoError(t, err, what)
		var got jobResult
		require.NoError(t, json.Unmarshal([]byte(s.Stdout.String()), &got), what)
		require.Equal(t, want.Digest, got.Digest, what)
		recoveries += got.Recoveries
	}
	t.Logf("%d rounds with %d kills, %d recoveries; %d jobs ended by a kill after their zone, %d by kills of one rank at one step", rounds, kills, recoveries, late, givenUp)
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
var afterTheZone = regexp.MustCompile(`(?m)^\w+: rank \d+ \(process \d+ on node \d+\): .*signal: killed`)

// oneRankEachTime is what the launcher says when all kills have hit what stands for one rank, and the job has not got on
// between them: it takes that for a failure of the program (--max-repeats). The same command goes on.
var oneRankEachTime = regexp.MustCompile(`rank \d+ has failed 3 times in the same way \(signal 9\)`)

// lateReport is afterTheZone of a job of which nothing else is wrong, for all of its lines.
var lateReport = regexp.MustCompile(`^(rank \d+ \(process \d+ on node \d+\): (node lost|signal: killed).*\n?)+$`)

// having are the processes that have a role.
func having(t *testing.T, all testprocess.Marked, role string) (pids []int) {
	for _, p := range all.Processes(t) {
		if p.Variable("CRAFT_ROLE") == role {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// killOne kills one of some processes, if there are any.
func killOne(pids []int, pick int) int {
	if len(pids) == 0 || syscall.Kill(pids[pick%len(pids)], syscall.SIGKILL) != nil {
		return 0
	}
	return 1
}
