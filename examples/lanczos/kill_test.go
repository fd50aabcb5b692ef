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
// it again until it gets through, and compares the result with that of an
// undisturbed run: the same digest for the same number of ranks, the same
// eigenvalues when each start has another number. Every start writes its
// checkpoints in another mode. Package killtest says how it is controlled.
func TestKillAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	k := &killer{Killer: killtest.New(t, 40), t: t, undisturbed: make(map[string]answer)}
	for k.Next() {
		k.job()
	}
	t.Logf("%s; %d restarts took up a checkpoint; %d jobs changed the number of ranks", k.Summary(), k.restarts, k.mixed)
	k.RequireAllModes()
	require.Greater(t, k.restarts, k.Kills/4, "most kills came before the first checkpoint")
	require.NotZero(t, k.mixed)
}

type answer struct {
	Eigenvalues []float64 `json:"eigenvalues"`
	Digest      string    `json:"digest"`
}

type killer struct {
	*killtest.Killer
	t           *testing.T
	undisturbed map[string]answer // by arguments

	restarts, mixed int
}

// problems take some ten milliseconds beside their checkpoints. The vectors of
// the second one are large enough for zero-copy on up to three ranks.
var problems = []string{
	"-nx 24 -ny 20 -disorder 0.5 -iters 160 -eigs 3 -json",
	"-nx 120 -ny 104 -disorder 0.5 -iters 60 -eigs 3 -json",
}

func (k *killer) job() {
	dir := filepath.Join(k.t.TempDir(), fmt.Sprint("job", k.Jobs))
	defer os.RemoveAll(dir)
	mixed := k.Jobs%3 == 0
	if mixed {
		k.mixed++
	}
	problem := problems[k.Rand.IntN(len(problems))]
	ranks := 1 + k.Rand.IntN(3)
	first := ranks
	frequency := strconv.Itoa([]int{1, 2, 7}[k.Rand.IntN(3)])
	longest, tookUp := killtest.Longest(0, false), false
	for ; ; longest = killtest.Longest(longest, tookUp) {
		args := append(strings.Fields(problem), "-ranks", strconv.Itoa(ranks))
		r := k.RandomMode(append(args, "-cp-path", dir, "-cp-freq", frequency), longest)
		if tookUp = strings.Contains(r.Stderr, "restarted from the checkpoint"); tookUp {
			k.restarts++
		}
		if !r.Killed {
			k.compare(r, args, mixed && ranks != first)
			return
		}
		if mixed {
			ranks = 1 + k.Rand.IntN(3)
			first = 0
		}
	}
}

func (k *killer) compare(r killtest.Run, args []string, onlyValues bool) {
	var got answer
	require.NoError(k.t, json.Unmarshal([]byte(r.Stdout), &got))
	key := fmt.Sprint(args)
	want, ok := k.undisturbed[key]
	if !ok {
		r := k.Undisturbed(append(args, "-cp-freq", "0"))
		require.NoError(k.t, json.Unmarshal([]byte(r.Stdout), &want))
		k.undisturbed[key] = want
	}
	if !onlyValues {
		require.Equal(k.t, want.Digest, got.Digest, "%v", args)
	}
	require.Len(k.t, got.Eigenvalues, len(want.Eigenvalues))
	for i := range want.Eigenvalues {
		require.InDelta(k.t, want.Eigenvalues[i], got.Eigenvalues[i], 1e-10, "%v", args)
	}
}
