package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/stretchr/testify/require"
)

// large has vectors that zero-copy writes from their own memory, on two ranks.
func large(more ...string) []string {
	return append(strings.Fields("-nx 110 -ny 100 -disorder 0.3 -seed 4 -iters 90 -cp-path cp"), more...)
}

// TestModes: the same result in all of them, also after a kill, and the same
// accounts of what was written.
func TestModes(t *testing.T) {
	for _, ranks := range []string{"1", "2"} {
		want := newProgram(t).result(large("-ranks", ranks, "-cp-freq", "0")...)
		for _, mode := range jobs.Modes {
			t.Run(string(mode)+" on "+ranks, func(t *testing.T) {
				args := large("-ranks", ranks, "-cp-freq", "20", "-async", string(mode))
				whole := newProgram(t).result(args...)
				require.Equal(t, want.Digest, whole.Digest)
				require.Equal(t, 5+1, whole.VersionsWritten)
				require.Greater(t, whole.BytesWritten, int64(5*2*22000*7), "two vectors in each, which hardly compress")
				require.Equal(t, mode, whole.Async)
				require.Equal(t, mode != checkpoint.AsyncOff, whole.WriterCPU > 0)
				require.Positive(t, whole.Percent)

				p := newProgram(t)
				p.Start(append(args, "-die-at", "77")...).End(-int(syscall.SIGKILL))
				got := p.result(append(args, "-die-at", "77")...)
				require.Equal(t, want.Digest, got.Digest)
				require.Equal(t, 61, got.RestartedFrom)
				require.Equal(t, 1+1, got.VersionsWritten)
			})
		}
	}
}

// TestNothingChangesWhileItIsWritten lets the checkpoint look for values that
// the computation changes too early.
func TestNothingChangesWhileItIsWritten(t *testing.T) {
	for _, mode := range []checkpoint.AsyncMode{checkpoint.AsyncCopy, checkpoint.AsyncZeroCopy} {
		for _, frequency := range []string{"1", "2", "3"} {
			p := newProgram(t)
			p.Env = []string{"CRAFT_ASYNC_CHECK=1"}
			s := p.Start(large("-cp-freq", frequency, "-async", string(mode), "-ranks", "2", "-iters", "60")...).End(0)
			require.Empty(t, s.Stderr.String(), "%s, %s", mode, frequency)
		}
	}
}

func TestEnvironmentChoosesTheMode(t *testing.T) {
	args := strings.Fields("-nx 5 -ny 5 -disorder 1 -iters 30 -cp-path cp")
	for _, c := range []struct {
		env, flag string
		want      checkpoint.AsyncMode
	}{
		{"", "", "off"},
		{"CRAFT_WRITE_ASYNC=1", "", "copy"},
		{"CRAFT_WRITE_ASYNC_ZERO_COPY=1", "", "zero-copy"},
		{"CRAFT_WRITE_ASYNC_ZERO_COPY=1", "off", "off"},
		{"CRAFT_WRITE_ASYNC=1", "zero-copy", "zero-copy"},
		{"", "copy", "copy"},
	} {
		p := newProgram(t)
		more := []string{}
		if c.env != "" {
			p.Env = []string{c.env}
		}
		if c.flag != "" {
			more = []string{"-async", c.flag}
		}
		require.Equal(t, c.want, p.result(append(args, more...)...).Async, "%+v", c)
	}
	p := newProgram(t)
	p.Env = []string{"CRAFT_WRITE_ASYNC=maybe"}
	require.Contains(t, p.Start(args...).End(1).Stderr.String(), "CRAFT_WRITE_ASYNC")
}

// TestFailedWritesDoNotStopIt: the directory is lost while it runs. It goes on,
// says so, and does not claim that the state it ends with is safe.
func TestFailedWritesDoNotStopIt(t *testing.T) {
	for _, mode := range jobs.Modes {
		p := newProgram(t)
		s := p.Start(strings.Fields("-nx 20 -ny 20 -disorder 1 -iters 100000000 -cp-freq 100 -cp-path cp -ranks 2 -async " + string(mode))...)
		dir := filepath.Join(p.Dir, "cp", "lanczos")
		p.Eventually(func() bool { return fileExists(filepath.Join(dir, "LATEST.json")) })
		for i := 0; ; i++ { // the next write but one makes the directory again
			require.Less(t, i, 100)
			if err := os.Rename(dir, filepath.Join(p.Dir, "gone-"+strconv.Itoa(i))); !errors.Is(err, fs.ErrNotExist) {
				require.NoError(t, err)
			}
			err := os.WriteFile(dir, nil, 0o666)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, syscall.EISDIR)
		}
		p.Eventually(func() bool { return strings.Contains(s.Stderr.String(), "the computation goes on") })
		require.NoError(t, s.Cmd.Process.Signal(syscall.SIGTERM))
		s.End(checkpoint.ExitRequeue)
		require.Contains(t, s.Stderr.String(), "nothing is stored", mode)
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
