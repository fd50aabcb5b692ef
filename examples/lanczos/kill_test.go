package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestKillAtAnyMoment kills the program with SIGKILL at random moments, starts
// it again until it gets through, and compares the result with that of an
// undisturbed run: the same digest for the same number of ranks, the same
// eigenvalues when each start has another number.
//
//	CRAFT_TEST_KILLS    how many kills there are at least (200)
//	CRAFT_TEST_SECONDS  how long it goes on at least (0)
//	CRAFT_TEST_SEED     replays the choices (not the machine's timing)
func TestKillAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some 20 seconds")
	}
	seed := uint64(variable(t, "CRAFT_TEST_SEED", int(time.Now().UnixNano()&math.MaxInt64)))
	minimum := variable(t, "CRAFT_TEST_KILLS", 200)
	until := time.Now().Add(time.Duration(variable(t, "CRAFT_TEST_SECONDS", 0)) * time.Second)
	t.Logf("replay with CRAFT_TEST_SEED=%d", seed)
	k := &killer{t: t, rng: rand.New(rand.NewPCG(seed, 0)), undisturbed: make(map[int]answer)}
	for round := 0; k.kills < minimum || time.Now().Before(until); round++ {
		k.job(round)
	}
	t.Logf("%d kills in %d jobs, %d restarts took up a checkpoint; %d jobs changed the number of ranks", k.kills, k.jobs, k.restarts, k.mixed)
	require.Greater(t, k.restarts, k.kills/4, "most kills came before the first checkpoint")
	require.NotZero(t, k.mixed)
}

func variable(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

type answer struct {
	Eigenvalues   []float64 `json:"eigenvalues"`
	Digest        string    `json:"digest"`
	RestartedFrom int       `json:"restarted_from"`
}

type killer struct {
	t           *testing.T
	rng         *rand.Rand
	undisturbed map[int]answer // by number of ranks

	kills, jobs, restarts, mixed int
}

// problem makes a run of some ten milliseconds beside its checkpoints.
func problem(ranks int) []string {
	return []string{"-nx", "24", "-ny", "20", "-disorder", "0.5", "-iters", "160", "-eigs", "3", "-json", "-ranks", strconv.Itoa(ranks)}
}

func (k *killer) job(round int) {
	dir := filepath.Join(k.t.TempDir(), fmt.Sprint("job", round))
	defer os.RemoveAll(dir)
	k.jobs++
	mixed := round%3 == 2
	if mixed {
		k.mixed++
	}
	ranks := 1 + k.rng.IntN(3)
	first := ranks
	frequency := strconv.Itoa([]int{1, 2, 7}[k.rng.IntN(3)])
	longest := 150 * time.Millisecond
	for start := 0; ; start++ {
		args := append(problem(ranks), "-cp-path", dir, "-cp-freq", frequency)
		after := time.Duration(k.rng.Int64N(int64(longest)))
		longest += longest / 20 // so that it gets through at last, on any machine
		got, killed := k.run(args, after)
		if !killed {
			k.compare(got, ranks, mixed && ranks != first, args)
			return
		}
		if mixed {
			ranks = 1 + k.rng.IntN(3)
			first = 0
		}
	}
}

// run starts the program and kills it after a while, unless it is faster.
func (k *killer) run(args []string, after time.Duration) (got answer, killed bool) {
	ctx, cancel := context.WithTimeout(k.t.Context(), after)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...) // kills with SIGKILL
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if bytes.Contains(stderr.Bytes(), []byte("restarted from the checkpoint")) {
		k.restarts++
	}
	if ctx.Err() != nil && (err != nil || errors.Is(err, context.DeadlineExceeded)) {
		k.kills++
		return answer{}, true
	}
	require.NoError(k.t, err, "%v\n%s", args, stderr.String())
	require.NotContains(k.t, stderr.String(), "damaged")
	require.NoError(k.t, json.Unmarshal(stdout.Bytes(), &got))
	return got, false
}

func (k *killer) compare(got answer, ranks int, onlyValues bool, args []string) {
	want, ok := k.undisturbed[ranks]
	if !ok {
		want, _ = k.run(append(problem(ranks), "-cp-freq", "0"), time.Hour)
		k.undisturbed[ranks] = want
	}
	if !onlyValues {
		require.Equal(k.t, want.Digest, got.Digest, "%v", args)
	}
	require.Len(k.t, got.Eigenvalues, len(want.Eigenvalues))
	for i := range want.Eigenvalues {
		require.InDelta(k.t, want.Eigenvalues[i], got.Eigenvalues[i], 1e-10, "%v", args)
	}
}
