// Package killtest starts the programs of the examples again and again and kills them
// with SIGKILL at random moments. The environment says how long:
//
//	CRAFT_TEST_KILLS    how many kills there are at least
//	CRAFT_TEST_SECONDS  how long it goes on at least (0)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
package killtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/internal/testprogram"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// Killer counts what it does.
type Killer struct {
	Rand  *rand.Rand
	Kills int
	Jobs  int

	t       *testing.T
	minimum int
	until   time.Time
	byMode  map[checkpoint.AsyncMode]int
}

// New is a killer that ends after the given number of kills, unless the
// environment says otherwise.
func New(t *testing.T, kills int) *Killer {
	return &Killer{
		Rand: testseed.Rand(t), t: t, byMode: make(map[checkpoint.AsyncMode]int),
		minimum: testseed.Number(t, "CRAFT_TEST_KILLS", kills),
		until:   time.Now().Add(time.Duration(testseed.Number(t, "CRAFT_TEST_SECONDS", 0)) * time.Second),
	}
}

// kinds of jobs there are, in turn: a slow machine has many kills in the first one.
const kinds = 3

// Next reports whether there is to be another job.
func (k *Killer) Next() bool {
	if k.Jobs >= kinds && k.Kills >= k.minimum && time.Now().After(k.until) {
		return false
	}
	k.Jobs++
	return true
}

// Summary is what the log of every random suite says at the end.
func (k *Killer) Summary() string {
	var modes []string
	for _, m := range jobs.Modes {
		modes = append(modes, fmt.Sprintf("%d in mode %s", k.byMode[m], m))
	}
	return fmt.Sprintf("%d kills in %d jobs, %s", k.Kills, k.Jobs, strings.Join(modes, ", "))
}

// RequireAllModes fails the test if there was no kill in one of the modes.
func (k *Killer) RequireAllModes() {
	for _, m := range jobs.Modes {
		require.NotZero(k.t, k.byMode[m], "no kill came in mode %s", m)
	}
}

// Longest is before when the next start of a job is killed: later and later, so that it gets through at last on any
// machine, and soon as long as it has not come so far that the next one takes up what it has written.
func Longest(before time.Duration, tookUp bool) time.Duration {
	switch {
	case before == 0:
		return 150 * time.Millisecond
	case tookUp:
		return before + before/20
	}
	return before + before/4
}

// Run is what a start of the program has printed.
type Run struct {
	Stdout, Stderr string
	Killed         bool
}

// Undisturbed starts the program and wants it to succeed.
func (k *Killer) Undisturbed(args []string) Run {
	r := k.run(args, time.Hour)
	require.False(k.t, r.Killed)
	return r
}

// RandomMode starts the program in a random mode and kills it at a random moment
// before the given time, unless it is faster; then it must succeed.
func (k *Killer) RandomMode(args []string, before time.Duration) Run {
	mode := jobs.Modes[k.Rand.IntN(len(jobs.Modes))]
	r := k.run(append(args[:len(args):len(args)], "-async", string(mode)), time.Duration(k.Rand.Int64N(int64(before))))
	if r.Killed {
		k.Kills++
		k.byMode[mode]++
	}
	return r
}

func (k *Killer) run(args []string, after time.Duration) Run {
	var killed atomic.Bool
	s := testprogram.New(k.t).Start(args...)
	kill := time.AfterFunc(after, func() {
		killed.Store(true)
		_ = s.Cmd.Process.Kill() // it may have ended
	})
	defer kill.Stop()
	err := s.Cmd.Wait()
	r := Run{Stdout: s.Stdout.String(), Stderr: s.Stderr.String(), Killed: err != nil && killed.Load()}
	require.NotContains(k.t, r.Stderr, "damaged", "%v", args)
	if !r.Killed {
		require.NoError(k.t, err, "%v\n%s", args, r.Stderr)
	}
	return r
}

// jobResult is what all programs print.
type jobResult struct {
	Digest     string
	Recoveries int
	Seconds    float64
}

func oneOf[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }
