package launch

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// replaceFile puts a file that says "impostor" in the place of another one.
func replaceFile(t *testing.T, path string) {
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, []byte("#!/bin/sh\necho impostor\n"), 0o700))
	require.NoError(t, os.Rename(other, path))
}

// ownProgram gives a job a copy of its program, which can be replaced.
func ownProgram(t *testing.T, cfg *Config) {
	program, err := os.Open(cfg.Program)
	require.NoError(t, err)
	defer func() { _ = program.Close() }()
	cfg.Program = filepath.Join(t.TempDir(), "solver")
	own, err := os.OpenFile(cfg.Program, os.O_CREATE|os.O_WRONLY, 0o700)
	require.NoError(t, err)
	_, err = io.Copy(own, program)
	require.NoError(t, err)
	require.NoError(t, own.Close())
}

// TestReplacedProgram: a program that was built anew while its job runs.
func TestReplacedProgram(t *testing.T) {
	cfg := job(t, 2, 1, "sleep")
	ownProgram(t, &cfg)
	out, log := newWatched(), newWatched()
	cfg.Stdout, cfg.Stderr, cfg.NodePath = out, out, t.TempDir()
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	t.Setenv("TMPDIR", t.TempDir())
	done := make(chan error, 1)
	go func() { _, err := Run(t.Context(), cfg); done <- err }()
	first := number(t, out.await(t, `rank 1 of node 0 is (\d+)`)[1])
	out.await(t, `rank 0 of node 0`)
	replaceFile(t, cfg.Program)
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	second := number(t, out.await(t, `(?s)rank 1 of node 0 is .*rank 1 of node 0 is (\d+)`)[1])
	require.NotContains(t, out.String(), "impostor")
	log.await(t, "was replaced since the job began")
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", second))
	require.NoError(t, err)
	require.Equal(t, "solver\n", string(name), "as users look for it")
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", second))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(line), cfg.Program+"\x00"), "%q", line)
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, syscall.Kill(parentOf(t, second), syscall.SIGKILL))
	require.ErrorIs(t, <-done, ErrJob)
}

// TestProgramReplacedAtTheStart: of the ranks that are being started just then none remains
// that is another program.
func TestProgramReplacedAtTheStart(t *testing.T) {
	const ranks = 9
	cfg := job(t, ranks, 1, "sleep")
	ownProgram(t, &cfg)
	out := newWatched()
	cfg.Stdout, cfg.Stderr, cfg.NodePath = out, out, t.TempDir()
	done := make(chan error, 1)
	go func() { _, err := Run(t.Context(), cfg); done <- err }()
	last := number(t, out.await(t, `rank \d of node 0 is (\d+)`)[1])
	replaceFile(t, cfg.Program)
	for rank := range ranks {
		out.await(t, fmt.Sprintf(`rank %d of node 0`, rank))
	}
	require.NoError(t, syscall.Kill(parentOf(t, last), syscall.SIGKILL))
	require.ErrorIs(t, <-done, ErrJob)
}

// TestReplacedScript: its interpreter would read the new one.
func TestReplacedScript(t *testing.T) {
	cfg := job(t, 1, 1, "sleep")
	path := script(t, `exec "`+cfg.Program+`" "$@"`)
	cfg.Program = path
	out := newWatched()
	cfg.Stdout, cfg.Stderr = out, out
	done := make(chan error, 1)
	go func() { _, err := Run(t.Context(), cfg); done <- err }()
	first := number(t, out.await(t, `rank 0 of node 0 is (\d+)`)[1])
	replaceFile(t, path)
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	err := <-done
	require.ErrorContains(t, err, path+" is not what it was when the job began: it is a script")
	require.NotContains(t, out.String(), "impostor")
}

func TestProgramWrittenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o700))
	i, err := openImage(path)
	require.NoError(t, err)
	found, replaced, _, err := i.find()
	require.NoError(t, err)
	require.False(t, replaced)
	require.Equal(t, path, found)
	require.NoError(t, os.WriteFile(path, []byte("another"), 0o700))
	_, _, _, err = i.find()
	require.ErrorContains(t, err, path+" is not what it was when the job began: it was written over; put it back")
	require.NoError(t, os.Remove(path))
	_, _, _, err = i.find()
	require.ErrorContains(t, err, "written over")
}

// TestWorkingDirectoryIsDeleted while the job runs: it is not the program that is
// missing.
func TestWorkingDirectoryIsDeleted(t *testing.T) {
	cfg := job(t, 1, 1, "sleep")
	cfg.Dir = filepath.Join(t.TempDir(), "scratch")
	require.NoError(t, os.Mkdir(cfg.Dir, 0o700))
	out := newWatched()
	cfg.Stdout, cfg.Stderr = out, out
	done := make(chan error, 1)
	go func() { _, err := Run(t.Context(), cfg); done <- err }()
	first := number(t, out.await(t, `rank 0 of node 0 is (\d+)`)[1])
	require.NoError(t, os.Remove(cfg.Dir))
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	err := <-done
	require.ErrorContains(t, err, "could not be started: the job's working directory "+cfg.Dir+": no such file or directory")
	require.NotContains(t, err.Error(), "exit status -1")
}
