// Package killtest starts the programs of the examples as processes, for tests
// of what they do when they are killed. The program is the test binary itself:
// its TestMain calls Main.
//
// A Killer starts it again and again and kills it with SIGKILL at random moments.
// The environment says how long:
//
//	CRAFT_TEST_KILLS    how many kills there are at least
//	CRAFT_TEST_SECONDS  how long it goes on at least (0)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
package killtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/stretchr/testify/require"
)

// Modes are the asynchronous modes that a program may be started in.
var Modes = []checkpoint.AsyncMode{checkpoint.AsyncOff, checkpoint.AsyncCopy, checkpoint.AsyncZeroCopy}

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

// Next reports whether there is to be another job.
func (k *Killer) Next() bool {
	if k.Kills >= k.minimum && time.Now().After(k.until) {
		return false
	}
	k.Jobs++
	return true
}

// Summary is what the log of every random suite says at the end.
func (k *Killer) Summary() string {
	var modes []string
	for _, m := range Modes {
		modes = append(modes, fmt.Sprintf("%d in mode %s", k.byMode[m], m))
	}
	return fmt.Sprintf("%d kills in %d jobs, %s", k.Kills, k.Jobs, strings.Join(modes, ", "))
}

// RequireAllModes fails the test if there was no kill in one of the modes.
func (k *Killer) RequireAllModes() {
	for _, m := range Modes {
		require.NotZero(k.t, k.byMode[m], "no kill came in mode %s", m)
	}
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
	mode := Modes[k.Rand.IntN(len(Modes))]
	r := k.run(append(args[:len(args):len(args)], "-async", string(mode)), time.Duration(k.Rand.Int64N(int64(before))))
	if r.Killed {
		k.Kills++
		k.byMode[mode]++
	}
	return r
}

func (k *Killer) run(args []string, after time.Duration) Run {
	ctx, cancel := context.WithTimeout(k.t.Context(), after)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...) // kills with SIGKILL
	cmd.Env = environ()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r := Run{Stdout: stdout.String(), Stderr: stderr.String()}
	require.NotContains(k.t, r.Stderr, "damaged", "%v", args)
	if ctx.Err() != nil && err != nil {
		r.Killed = true
		return r
	}
	require.NoError(k.t, err, "%v\n%s", args, r.Stderr)
	return r
}
