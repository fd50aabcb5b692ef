package checkpoint

import (
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

func passedDeadline() demand.Demand {
	return demand.Demand{Cause: demand.Deadline, Planned: true, Source: "CRAFT_DEADLINE", Left: 0}
}

// A start whose deadline had passed before computes nothing, changes nothing, and is one of those that have got nowhere.
func TestDeadlinePassedBeforeTheStart(t *testing.T) {
	for _, begun := range []bool{false, true} {
		dir, want, version := t.TempDir(), 0, uint64(0)
		if begun {
			p := demand.NewLocal()
			_, _, err := runToEnd(t.Context(), dir, p, 100, 10, func(iter int) {
				if iter == 33 {
					p.Ask(end("x"))
				}
			})
			require.ErrorIs(t, err, ErrDeadline)
			want, version = 34, latestVersion(t, dir)
		}
		for start := 1; start <= 4; start++ {
			var log syncBuffer
			p := demand.NewLocal()
			p.Ask(passedDeadline())
			_, _, err := runToEnd(t.Context(), dir, p, 100, 10, func(int) { require.Fail(t, "it has begun") }, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			var d *DeadlineError
			require.ErrorAs(t, err, &d)
			require.Equal(t, version, d.Version)
			require.Contains(t, log.String(), "the deadline had passed before the start")
			if start < tooManyStarts {
				require.Equal(t, ExitRequeue, ExitCode(err), "start %d", start)
			} else {
				require.Equal(t, ExitFailed, ExitCode(err), "start %d", start)
				require.ErrorContains(t, err, "the deadline had passed before the start (CRAFT_DEADLINE): it needs a later one")
			}
		}
		_, first, err := runToEnd(t.Context(), dir, demand.NewLocal(), 100, 10, nil)
		require.NoError(t, err)
		require.Equal(t, want, first)

		p := demand.NewLocal()
		p.Ask(passedDeadline())
		_, _, err = runToEnd(t.Context(), dir, p, 100, 10, nil)
		require.NoError(t, err, "it is finished, and has nothing to compute")
	}
}

// All ranks end there, whether they have heard of the deadline or not.
func TestDeadlinePassedBeforeTheStartOfRanks(t *testing.T) {
	w := newMemoryWorld(t, 4, 2, "partner")
	w.begins = func(p *memoryProgram) {
		if p.c.Rank() == 0 {
			w.cluster.Ask(passedDeadline())
			require.NoError(t, eventually(func() bool { return p.cp.meet.point.Plan() != nil }))
		}
	}
	w.step = func(*memoryProgram) error { return errors.New("it has begun") }
	err := w.job()
	require.ErrorIs(t, err, ErrDeadline)
	require.Equal(t, ExitRequeue, ExitCode(err))
	w.step, w.begins = nil, nil
	w.run()
	require.Equal(t, []int{0}, w.restarts)
}

// A run that was finished has nothing to compute, and what it has at home needs no time.
func TestDeadlinePassedOfAFinishedRunOnNodes(t *testing.T) {
	w := newMemoryWorld(t, 2, 2, "partner")
	w.last = func(p *memoryProgram) error { return p.cp.Finish(t.Context(), p.iter-1) }
	w.run()
	w.begins = func(p *memoryProgram) {
		if p.c.Rank() == 0 {
			w.cluster.Ask(passedDeadline())
			require.NoError(t, eventually(func() bool { return p.cp.meet.point.Plan() != nil }))
		}
	}
	w.last = func(p *memoryProgram) error {
		asked := eventually(func() bool { end, _ := p.cp.meet.point.End(); return end != nil })
		return errors.Join(asked, p.cp.Finish(t.Context(), p.iter-1))
	}
	w.run()
	require.Equal(t, []int{0, 10}, w.restarts)
}

// endsBefore starts a job that ends before it has begun, and returns the records with its own, which is the last one.
func endsBefore(t *testing.T, j countingJob) []storage.Record {
	p := demand.NewLocal()
	p.Ask(end("x"))
	_, err := j.start(t, 1, withPoint(p))
	require.ErrorIs(t, err, ErrDeadline)
	runs, err := j.home(t).Records(t.Context())
	require.NoError(t, err)
	require.Equal(t, "end", runs[len(runs)-1].End)
	return runs
}

// The record of a job that ends before it has begun is the last one, and tells what the one before it does.
func TestEndBeforeTheStartKeepsWhatIsDamaged(t *testing.T) {
	j := countingJob{dir: t.TempDir(), opts: []Option{WithKeep(5)}}
	j.startsAt(t, 0, 3)
	j.damage(t, 3)
	j.startsAt(t, 2, 1)
	runs := endsBefore(t, j)
	require.Len(t, runs, 3)
	require.NotEmpty(t, runs[1].Damaged)
	require.Equal(t, runs[1].Damaged, runs[2].Damaged)
}

// So does the one that a computation was begun anew of which nothing is stored: what is older is not gone on from without a word.
func TestEndBeforeTheStartKeepsThatItBeganAnew(t *testing.T) {
	for _, ended := range []bool{false, true} {
		var log syncBuffer
		j := countingJob{dir: t.TempDir()}
		j.startsAt(t, 0, 3)
		j.startsAt(t, 0, 0, WithReadOnRestart(false))
		if ended {
			runs := endsBefore(t, j)
			require.Len(t, runs, 3)
			require.NotEmpty(t, runs[1].Anew)
			require.Equal(t, runs[1].Anew, runs[2].Anew)
		}
		j.startsAt(t, 3, 0, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		require.Contains(t, log.String(), "began anew and has no complete version", "ended: %v", ended)
	}
}

// What the environment says of the deadline is known at the first call, without a launcher.
func TestFixedDeadlineIsKnownAtOnce(t *testing.T) {
	for value, want := range map[string]string{"2020-01-01 00:00": "CRAFT_DEADLINE", "+1h": "", "": ""} {
		t.Setenv("CRAFT_DEADLINE", value)
		p := newProgram(t, nil, true, WithPath(t.TempDir()))
		require.Equal(t, want, passedAt(t.Context(), p.cp.meet, time.Now()))
		require.NoError(t, p.cp.Close())
	}
}

// So is a limit of Slurm that has passed, as its variable and squeue say.
func TestPassedLimitOfSlurmIsKnownAtOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("SLURM_JOB_ID", "4711")
	t.Setenv("SLURM_JOB_END_TIME", fmt.Sprint(time.Now().Add(-time.Minute).Unix()))
	for end, want := range map[string]string{"- 60": "Slurm (squeue)", "+ 3600": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "squeue"), []byte("#!/bin/sh\necho $(($(date +%s) "+end+"))\n"), 0o700))
		p := newProgram(t, nil, true, WithPath(t.TempDir()))
		require.Equal(t, want, passedAt(t.Context(), p.cp.meet, time.Now()))
		require.NoError(t, p.cp.Close())
	}
}

// A start behind three that were killed at their end, where nobody was left to say so, is refused once: no endless requeue. Who starts
// it all the same has it run.
func TestStartsThatAreKilledAtTheirEnd(t *testing.T) {
	for killed := range 2 * tooManyStarts {
		dir := t.TempDir()
		store, err := filestore.New(filestore.Config{Path: dir, Name: "loop"})
		require.NoError(t, errors.Join(err, filestore.MakeDir(store)))
		for i := range killed {
			start := time.Now().Add(time.Duration(i-killed) * time.Hour)
			require.NoError(t, store.Record(t.Context(), storage.Record{
				Format: 1, Checkpoint: "loop", Attempt: hex.EncodeToString([]byte{0, 0, 0, 0, 0, 0, 0, byte(1 + i)}), Started: start, Updated: start, End: "deadline",
			}))
		}
		if killed >= tooManyStarts {
			_, _, err = runToEnd(t.Context(), dir, demand.NewLocal(), 100, 10, func(int) { require.Fail(t, "it has begun") })
			require.ErrorIs(t, err, ErrDeadline)
			require.Equal(t, ExitFailed, ExitCode(err))
			require.ErrorContains(t, err, fmt.Sprintf("%d starts in a row have ended without a newer version", killed+1))
		}
		_, first, err := runToEnd(t.Context(), dir, demand.NewLocal(), 100, 10, nil)
		require.NoError(t, err)
		require.Zero(t, first)
	}
}
