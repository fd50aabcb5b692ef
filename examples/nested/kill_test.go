package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/craft-go/craft/examples/internal/killtest"
	"github.com/stretchr/testify/require"
)

// TestKillAtAnyMoment kills the program with SIGKILL at random moments, starts
// it again in another mode until it gets through, and wants the digest of an
// undisturbed run. Package killtest says how it is controlled.
func TestKillAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	k := &killer{Killer: killtest.New(t, 40), t: t, undisturbed: make(map[string]string), byFrequency: make(map[int]int)}
	for k.Next() {
		k.job()
	}
	t.Logf("%s; %d, %d, %d with outer frequencies 1, 2, 3; %d restarts took up an outer checkpoint, %d an inner one, %d both",
		k.Summary(), k.byFrequency[1], k.byFrequency[2], k.byFrequency[3], k.outer, k.inner, k.both)
	k.RequireAllModes()
	for frequency := 1; frequency <= 3; frequency++ {
		require.NotZero(t, k.byFrequency[frequency], "outer frequency %d", frequency)
	}
	require.Greater(t, k.outer, k.Kills/10, "outer checkpoints were hardly taken up")
	require.Greater(t, k.inner, k.Kills/10, "inner checkpoints were hardly taken up")
	require.NotZero(t, k.both)
}

type killer struct {
	*killtest.Killer
	t           *testing.T
	undisturbed map[string]string // digest, by arguments

	outer, inner, both int // restarts that took up a checkpoint
	byFrequency        map[int]int
}

// problems take some ten milliseconds beside their checkpoints. The vectors of
// the second one are large enough for zero-copy on up to three ranks.
var problems = []string{
	"-nx 24 -ny 20 -points 6 -iters 40 -inner-freq 4 -json",
	"-nx 120 -ny 104 -points 5 -iters 15 -inner-freq 2 -json",
}

func (k *killer) job() {
	dir := filepath.Join(k.t.TempDir(), fmt.Sprint("job", k.Jobs))
	defer os.RemoveAll(dir)
	problem := problems[k.Rand.IntN(len(problems))]
	ranks := strconv.Itoa(1 + k.Rand.IntN(3))
	frequency := 1 + k.Jobs%3
	args := append(strings.Fields(problem), "-ranks", ranks)
	mine := append(args[:len(args):len(args)], "-cp-path", dir, "-outer-freq", strconv.Itoa(frequency))
	for longest, outer := killtest.Longest(0, false), false; ; longest = killtest.Longest(longest, outer) {
		r := k.RandomMode(mine, longest)
		outer = k.count(r)
		if !r.Killed {
			require.Equal(k.t, k.want(args), k.digest(r), "%v", mine)
			return
		}
		k.byFrequency[frequency]++
	}
}

// count notes what a start has taken up, and reports whether that was of the loop outside.
func (k *killer) count(r killtest.Run) (outer bool) {
	outer = strings.Contains(r.Stderr, "restarted from the checkpoint")
	inner := strings.Contains(r.Stderr, "goes on from its own checkpoint")
	if outer {
		k.outer++
	}
	if inner {
		k.inner++
	}
	if outer && inner {
		k.both++
	}
	return outer
}

func (k *killer) want(args []string) string {
	key := fmt.Sprint(args)
	if _, ok := k.undisturbed[key]; !ok {
		k.undisturbed[key] = k.digest(k.Undisturbed(append(args[:len(args):len(args)], "-cp-path", k.t.TempDir())))
	}
	return k.undisturbed[key]
}

func (k *killer) digest(r killtest.Run) string {
	var got result
	require.NoError(k.t, json.Unmarshal([]byte(r.Stdout), &got))
	return got.Digest
}
