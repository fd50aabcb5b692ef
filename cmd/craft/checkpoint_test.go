package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// background runs a command line beside the test.
func background(t *testing.T, args ...string) (ended chan result) {
	ended = make(chan result, 1)
	go func() { ended <- craft(t, args...) }()
	return ended
}

func answer(t *testing.T, dir, id string, a storage.Answer) {
	t.Helper()
	a.Format = 1
	require.NoError(t, filestore.RequestsIn(vfs.OS(), dir).AnswerRequest(t.Context(), id, a))
}

func TestCheckpoint(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "job")
	t.Setenv("CRAFT_CP_PATH", base)
	lock := holdLock(t, dir, filestore.Owner{Job: "NAMEOFTHEJOB", Process: procid.This(), Since: time.Now()})
	defer lock()
	iteration := int64(340)
	good := storage.Answer{State: storage.AnswerSaved, Checkpoint: "inner", Version: 12, Iteration: &iteration, Attempt: "0102030405060708", Level: "local, partner"}
	for _, named := range []string{dir, "job", "NAMEOFTHEJOB", "NAMEOF", base} {
		ended := background(t, "checkpoint", named, "--json")
		id := theRequest(t, dir, "")
		answer(t, dir, id, storage.Answer{State: storage.AnswerAsked})
		answer(t, dir, id, good)
		r := <-ended
		require.Equal(t, exitFine, r.code, "%s: %s", named, r.stderr)
		var v safeVersion
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &v))
		require.Equal(t, "NAMEOFTHEJOB", v.Job)
		require.EqualValues(t, 12, v.Version)
		require.Equal(t, "local, partner", v.Level)
		require.Empty(t, leftovers(t, dir))
	}
	ended := background(t, "checkpoint", dir)
	answer(t, dir, theRequest(t, dir, ""), good)
	require.Equal(t, result{exitFine, "version 12 of iteration 340 of checkpoint inner: local, partner\n", ""}, <-ended)

	ended = background(t, "checkpoint", dir)
	answer(t, dir, theRequest(t, dir, ""), storage.Answer{State: storage.AnswerFailed, Error: "no room"})
	r := <-ended
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "has stored no version: no room")
	require.Empty(t, leftovers(t, dir))

	r = craft(t, "checkpoint", dir, "--timeout", "50ms")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "within 50ms (--timeout)")
	require.Empty(t, leftovers(t, dir))

	ended = background(t, "checkpoint", dir)
	_, err := filestore.RequestsIn(vfs.OS(), dir).RemoveRequest(t.Context(), theRequest(t, dir, ""))
	require.NoError(t, err)
	r = <-ended
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "taken back by somebody else")
}

// holdLock makes a checkpoint's directory with the lock of some job.
func holdLock(t *testing.T, dir string, o filestore.Owner) (remove func()) {
	require.NoError(t, os.MkdirAll(dir, 0o700))
	lock(t, dir, o, time.Now())
	return func() { require.NoError(t, os.Remove(filepath.Join(dir, filestore.LockName))) }
}

// The job ends while the command waits: by itself, by a signal, or another one follows.
func TestCheckpointOfAJobThatEnds(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "job")
	program, input := startAsked(t, base)
	ended := background(t, "checkpoint", dir)
	theRequest(t, dir, storage.AnswerAsked)
	require.NoError(t, input.Close())
	require.NoError(t, program.Wait())
	r := <-ended
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "has given the lock of")
	require.Contains(t, r.stderr, "no version of its last run was complete, and it ended at")
	require.Empty(t, leftovers(t, dir))

	program, _ = startAsked(t, base)
	ended = background(t, "checkpoint", dir)
	theRequest(t, dir, storage.AnswerAsked)
	require.NoError(t, program.Process.Kill())
	_ = program.Wait()
	r = <-ended
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "has ended without storing a version")
	require.Empty(t, leftovers(t, dir))
	r = craft(t, "checkpoint", dir)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "which has ended: there is no job that could be asked")

	lock(t, dir, filestore.Owner{Job: "first", Process: procid.This()}, time.Now())
	ended = background(t, "checkpoint", dir)
	theRequest(t, dir, "")
	lock(t, dir, filestore.Owner{Job: "second", Process: procid.This()}, time.Now())
	r = <-ended
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "is locked by")

	lock(t, dir, filestore.Owner{Job: "far", Process: procid.ID{Host: "elsewhere", PID: 1}}, time.Now())
	r = craft(t, "checkpoint", dir) // which is silent
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "shows no sign of life")
	require.Empty(t, leftovers(t, dir))
}

// An interrupted command leaves nothing behind, whatever the job has answered so far.
func TestCheckpointInterrupted(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "job")
	startAsked(t, base)
	exe, err := os.Executable()
	require.NoError(t, err)
	for sig, want := range map[os.Signal]int{os.Interrupt: exitInterrupted, syscall.SIGTERM: exitFailed} {
		var errs strings.Builder
		cmd := exec.Command(exe, "checkpoint", dir)
		cmd.Env, cmd.Stderr = append(os.Environ(), commandVariable+"=1", "GORACE=atexit_sleep_ms=0"), &errs
		require.NoError(t, cmd.Start())
		theRequest(t, dir, storage.AnswerAsked)
		require.NoError(t, cmd.Process.Signal(sig))
		_ = cmd.Wait()
		require.Equal(t, want, cmd.ProcessState.ExitCode(), "%s", &errs)
		require.Empty(t, leftovers(t, dir))
	}
	r := craft(t, "ls", base)
	require.Equal(t, exitFine, r.code, r.stderr)
}

func TestWhichJob(t *testing.T) {
	base := t.TempDir()
	t.Setenv("CRAFT_CP_PATH", base)
	write(t, base, "idle", 1, 1)
	for _, c := range []struct {
		args, says string
		code       int
	}{
		{"checkpoint", "which job?", exitUsage},
		{"checkpoint a b", "one job at a time", exitUsage},
		{"checkpoint idle", "is not locked", exitFailed},
		{"checkpoint ../idle", "does not exist", exitFailed},
		{"checkpoint nothing", "nor a job that holds the lock", exitFailed},
		{"checkpoint idle --timeout -1s", "--timeout -1s", exitUsage},
		{"halt", "which job?", exitUsage},
		{"halt idle", "is not locked", exitFailed},
		{"halt idle --now --at 18:00", "--at and --now exclude each other", exitUsage},
		{"halt idle --after-checkpoints 0", "it must be at least 1", exitUsage},
		{"halt idle --at noon", `--at "noon"`, exitUsage},
		{"halt idle --at +0s", `more than 0`, exitUsage},
		{"halt idle --at 2001-01-01T00:00:00Z", "that is over", exitUsage},
		{"halt --list a b", "one directory at a time", exitUsage},
		{"halt --list --cancel", "exclude each other", exitUsage},
		{"halt --list nowhere", "does not exist", exitFailed},
	} {
		r := craft(t, strings.Fields(c.args)...)
		require.Equal(t, c.code, r.code, "%s: %s", c.args, r.stderr)
		require.Contains(t, r.stderr, c.says, c.args)
	}
	now := time.Now()
	for i, name := range []string{"inner", "outer"} { // nested: the outer one has begun before
		holdLock(t, filepath.Join(base, name), filestore.Owner{Job: "nested", Process: procid.This(), Since: now.Add(-time.Duration(i) * time.Hour)})
	}
	p := newProgram(os.Stdin, os.Stdout, os.Stderr)
	j, err := jobs{p}.findJob(t.Context(), "halt", "nested")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(base, "outer"), j.dir)
	holdLock(t, filepath.Join(base, "third"), filestore.Owner{Job: "nested-not", Process: procid.This(), Since: now})
	_, err = jobs{p}.findJob(t.Context(), "halt", base)
	require.ErrorContains(t, err, "any of 2 jobs; try: craft halt "+filepath.Join(base, "outer")+", craft halt "+filepath.Join(base, "third"))
	j, err = jobs{p}.findJob(t.Context(), "halt", "nested-not")
	require.NoError(t, err)
	require.Equal(t, "nested-not", j.id)
	j, err = jobs{p}.findJob(t.Context(), "halt", "nested")
	require.NoError(t, err)
	require.Equal(t, "nested", j.id)
}
