package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// askedVariable makes the test binary a program that has a checkpoint open below the directory of that
// value until its input ends.
const askedVariable = "TEST_ASKED_PROGRAM"

func askedProgram(base string) int {
	cp, err := openJob(base, "job")
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	if err == nil {
		err = cp.Close()
	}
	if err != nil {
		slog.Error("asked program", "error", err)
		return 1
	}
	return 0
}

// openJob has this process be a job with a checkpoint.
func openJob(base, name string, opts ...checkpoint.Option) (*checkpoint.Checkpoint, error) {
	cp, err := checkpoint.New(name, nil, append([]checkpoint.Option{
		checkpoint.WithPath(base), checkpoint.WithSync(checkpoint.SyncNone), checkpoint.WithLogger(slog.New(slog.DiscardHandler)),
	}, opts...)...)
	if err == nil {
		err = errors.Join(cp.Add("x", new(int)), cp.Commit(), cp.RestartIfNeeded(context.Background(), nil))
	}
	return cp, err
}

// startAsked starts that program, and waits until it has the lock.
func startAsked(t *testing.T, base string) (program *exec.Cmd, input io.Closer) {
	exe, err := os.Executable()
	require.NoError(t, err)
	program = exec.Command(exe)
	program.Env = append(os.Environ(), askedVariable+"="+base)
	program.Stderr = os.Stderr
	input, err = program.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	t.Cleanup(func() { _ = program.Process.Kill(); _ = program.Wait() })
	until(t, func() bool {
		l, err := readLock(vfs.OS(), filepath.Join(base, "job"))
		return err == nil && l != nil && l.PID != 0
	})
	return program, input
}

func until(t *testing.T, is func() bool) {
	t.Helper()
	require.Eventually(t, is, time.Minute, 5*time.Millisecond)
}

// theRequest waits for the one request in a directory, and for an answer of that state.
func theRequest(t *testing.T, dir string, state storage.AnswerState) (id string) {
	t.Helper()
	files := filestore.RequestsIn(vfs.OS(), dir)
	until(t, func() bool {
		list, err := files.ListRequests(t.Context())
		if err != nil || len(list) != 1 {
			return false
		}
		id = list[0]
		a, err := files.ReadAnswer(id)
		return state == "" || err == nil && a != nil && a.State == state
	})
	return id
}

// leftovers are the files of requests.
func leftovers(t *testing.T, dir string) (all []string) {
	for _, pattern := range []string{"*REQUEST*", "*ANSWER*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		all = append(all, names...)
	}
	return all
}
