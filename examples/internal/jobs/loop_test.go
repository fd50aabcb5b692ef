package jobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/stretchr/testify/require"
)

func parse(args ...string) (l jobs.Loop, err error) {
	f := flag.NewFlagSet("sum", flag.ContinueOnError)
	l.Register(f, 10, 1)
	set, err := l.Parse(f, args, "", io.Discard)
	if err == nil {
		err = l.Check(set, "small")
	}
	return l, err
}

func TestLoopFlags(t *testing.T) {
	t.Setenv("CRAFT_CP_PATH", "")
	l, err := parse()
	require.NoError(t, err)
	require.Equal(t, 10, l.Iterations)
	require.Equal(t, 1, l.Frequency)
	require.Equal(t, filepath.Join("sum-checkpoints", "small"), l.CPPath)
	t.Setenv("CRAFT_CP_PATH", "elsewhere")
	l, err = parse("-die-at", "3")
	require.NoError(t, err, "it needs no other process")
	require.Equal(t, "elsewhere", l.CPPath)
	require.True(t, l.Kills.At(3))
	l, err = parse("-kill", "1@2,0@4", "-np", "2", "-cp-path", "here", "-freq", "7", "-iters", "5", "-fresh")
	require.NoError(t, err)
	require.Equal(t, "here", l.CPPath)
	require.True(t, l.Fresh && l.Frequency == 7 && l.Iterations == 5 && l.Kills.At(2) && l.Kills.At(4) && !l.Kills.At(3))
	for _, args := range []string{"-iters 0", "-freq 0", "-freq -1", "-die-at -1", "-kill 1@2", "-kill 2@2 -np 2", "-kill-node 1@2 -np 2", "-ranks 0"} {
		_, err := parse(strings.Fields(args)...)
		require.ErrorContains(t, err, strings.Fields(args)[0][1:], args)
	}
}

// sum is a program: it adds up the numbers of its iterations.
type sum struct {
	Sum int `json:"sum"`

	jobs.Result
}

func (s *sum) Print(w io.Writer) error {
	fmt.Fprintf(w, "sum %d\n", s.Sum)
	s.PrintRun(w)
	s.PrintCheckpoints(w, "cp")
	return nil
}

// solve is the body of the package comment.
func solve(ctx context.Context, z *aft.Zone, rank *jobs.Rank) error {
	cp, err := checkpoint.New("sum", z.Comm(), rank.CheckpointOptions("sum")...)
	if err != nil {
		return err
	}
	defer rank.Close(cp)
	total, iter := 0, 0
	cp.Add("total", cptypes.Replicated(&total))
	if err := errors.Join(cp.Commit(), cp.RestartIfNeeded(ctx, &iter)); err != nil {
		return err
	}
	if err := rank.Begin(ctx, cp, iter); err != nil {
		return err
	}
	for ; iter < rank.Iterations; iter++ {
		total += iter
		z.Step(iter)
		if err := rank.Done(ctx, iter); err != nil {
			return err
		}
		if err := rank.Tolerate(ctx, iter, cp.UpdateAndWrite(ctx, iter, rank.Frequency)); err != nil {
			return err
		}
	}
	common, err := rank.Result(ctx, iter, fmt.Sprint("digest of ", total))
	rank.Finish(&sum{Sum: total, Result: common})
	return err
}

// job runs it on three ranks, each of which is the only one of its process.
func job(t *testing.T, l jobs.Loop) (says, out string) {
	var mu sync.Mutex
	var stdout, stderr bytes.Buffer
	err := (&afttest.Cluster{}).Run(t.Context(), 3, func(ctx context.Context, r *afttest.Rank) error {
		var own, told bytes.Buffer
		j := jobs.NewJob(l, &told)
		j.Die = func(int) error { r.Die(); return nil }
		err := aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error { return solve(ctx, z, j.Rank(z)) }, j.ZoneOptions()...)
		code := j.End(err, &own)
		mu.Lock()
		defer mu.Unlock()
		stdout.Write(own.Bytes())
		stderr.Write(told.Bytes())
		if err == nil && code != jobs.ExitDone {
			err = fmt.Errorf("exit code %d", code)
		}
		return err
	})
	require.NoError(t, err)
	return stderr.String(), stdout.String()
}

// TestLoop: a rank dies once in a job, what was done is counted, and the next start goes on at the end.
func TestLoop(t *testing.T) {
	dir := t.TempDir()
	l, err := parse("-cp-path", dir, "-freq", "2", "-json")
	require.NoError(t, err)
	l.Kills = jobs.Kills{{What: "rank", Number: 1, At: 5}}
	says, out := job(t, l)
	require.Contains(t, says, "recovered: the next iteration is 5\n")
	require.Equal(t, 1, strings.Count(says, "the next iteration"), "one of the ranks says it")
	require.Equal(t, 1, strings.Count(out, "\n"))
	var got sum
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Equal(t, 45, got.Sum)
	require.Equal(t, "digest of 45", got.Digest)
	require.Equal(t, []int{10, -1, 1, 3, 5}, []int{got.Iterations, got.RestartedFrom, got.Recoveries, got.Ranks, got.VersionsWritten})
	require.Positive(t, got.Seconds)
	require.Positive(t, got.Overheads.Recovery)
	require.Positive(t, got.Overheads.Recomputation)
	require.Positive(t, got.BytesWritten)
	left, err := filepath.Glob(filepath.Join(dir, "sum-killed-*"))
	require.NoError(t, err)
	require.Empty(t, left, "the next job may kill it again")

	l.JSON = false
	says, out = job(t, l)
	require.Contains(t, says, "restarted from the checkpoint in "+dir+": the next iteration is 9\n")
	require.Contains(t, out, "sum 45\n10 iterations on 3 ranks in ")
	require.Contains(t, out, "of which this run did those from 9\n")
}
