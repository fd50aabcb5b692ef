package commtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/internal/testseed"
)

// Faults is how a body of the failure suite makes processes fail.
type Faults interface {
	// Die ends this process at once, as a SIGKILL does. It is called by the
	// body's goroutine and does not return.
	Die()
	// Kill makes a process fail, which may be this one, and returns at once. r
	// is a rank of the job's first communicator; its present process is meant.
	// Any goroutine may call it, also for a process that is dead already.
	Kill(r int)
	// Replacement reports whether this process was made by Comm.Spawn.
	Replacement() bool
}

// FaultyBody is what a rank of the failure suite runs, with the first
// communicator of its process. Replacements run it anew.
type FaultyBody func(ctx context.Context, c driver.Comm, f Faults) error

// FaultyLaunch runs a body on n ranks and waits for all of them, replacements
// included. It fails t with the errors of the bodies, but for those of processes
// that were made to fail, and skips t when the error is ErrSkip: Verdict does
// that. It may skip t if the engine cannot run n ranks.
//
// A launcher that starts processes passes name on to them, and calls Body with
// it there; the name also carries the seed of all that is random.
type FaultyLaunch func(t *testing.T, n int, name string, body FaultyBody)

// ErrSkip is returned by a body when the engine does not support what it tries.
var ErrSkip = errors.New("skipped")

// SkipCode is the exit code of a process whose body returned ErrSkip.
const SkipCode = 77

// patience is how long a body may take. It only ends what would block for ever: on a
// busy machine, under the race detector, a soak of seconds takes minutes.
const patience = 5 * time.Minute

var errBlocked = errors.New("the body has not ended in time: an operation blocks")

// faultTrial is one requirement of what happens at failures.
type faultTrial struct {
	name  string
	sizes []int
	run   func(ctx context.Context, p *player) error
}

// faultTrials are all of them.
func faultTrials() []faultTrial {
	return slices.Concat(
		failMessageTrials, failWildcardTrials, failCollectiveTrials(), failRevokeTrials(),
		failAgreeTrials, failShrinkTrials, failSplitTrials, failListTrials, failSpawnTrials)
}

// soak is run again and again, each time with another seed.
var soak = faultTrial{"soak", []int{8}, runSoak}

// RunFailures runs the suite of failures on an engine. CRAFT_TEST_SEED replays
// what is random; CRAFT_TEST_SECONDS is the time for the soak (2).
func RunFailures(t *testing.T, launch FaultyLaunch) {
	seed := testseed.Seed(t)
	for _, tr := range faultTrials() {
		t.Run(tr.name, func(t *testing.T) {
			for _, n := range tr.sizes {
				if testing.Short() && n > 4 {
					continue // the soak has 8 ranks
				}
				t.Run(fmt.Sprintf("ranks=%d", n), func(t *testing.T) {
					launch(t, n, seeded(tr.name, seed), tr.body(seed))
				})
			}
		})
	}
	t.Run(soak.name, func(t *testing.T) {
		seconds := testseed.Number(t, "CRAFT_TEST_SECONDS", 2)
		runRounds(t, launch, seed, time.Duration(seconds)*time.Second)
	})
}

// runRounds soaks for the time given. The first round has the seed itself, so
// that a failed one can be replayed.
func runRounds(t *testing.T, launch FaultyLaunch, seed uint64, limit time.Duration) {
	rounds := 0
	defer func() { t.Logf("%d rounds of 8 ranks, each down to one", rounds) }()
	for start := time.Now(); rounds == 0 || time.Since(start) < limit; rounds++ {
		round := seed + uint64(rounds)
		skipped := false
		if !t.Run(fmt.Sprintf("seed=%d", round), func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			launch(t, soak.sizes[0], seeded(soak.name, round), soak.body(round))
		}) || skipped {
			return
		}
	}
}

// Body is the body of that name, as a FaultyLaunch has got it.
func Body(name string) (FaultyBody, error) {
	base, text, _ := strings.Cut(name, "@")
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("body %q: a name ends in @ and a seed: %w", name, err)
	}
	for _, tr := range append(faultTrials(), soak) {
		if tr.name == base {
			return tr.body(seed), nil
		}
	}
	return nil, fmt.Errorf("body %q: there is none of this name", name)
}

func seeded(name string, seed uint64) string { return fmt.Sprintf("%s@%d", name, seed) }

// Verdict fails or skips t for the error of a body.
func Verdict(t *testing.T, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrSkip):
		t.Skip(err)
	case err != nil:
		t.Error(err)
	}
}

// ExitCode is that of a process whose body has returned err; it should print an
// error that is not nil.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrSkip):
		return SkipCode
	}
	return 1
}
