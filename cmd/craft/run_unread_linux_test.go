package main

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// unreadPipe is one that is full, and that nobody reads.
func unreadPipe(t *testing.T) (out *os.File) {
	unread, out, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = unread.Close(), out.Close() })
	require.NoError(t, out.SetWriteDeadline(time.Now().Add(time.Second)))
	for ; err == nil; _, err = out.Write(make([]byte, 512)) {
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "the pipe is full")
	return out
}

// TestEndWhileNobodyReads: a batch system kills what has not ended at its limit, and then knows nothing of the code: output is
// given up before.
func TestEndWhileNobodyReads(t *testing.T) {
	for name, flags := range map[string][]string{
		"a request":   {"-v", "--grace", "6s"},
		"a rehearsal": {"-v", "--end-after", "1h", "--grace", "6s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv(endingVariable, "1000000")
			j := prepareEnding(t, flags...)
			j.cmd.Stderr = unreadPipe(t)
			require.NoError(t, j.cmd.Start())
			j.begin(4)
			j.signal(syscall.SIGTERM, j.launcher())
			require.Equal(t, 75, j.ends())
			j.goesOn()
		})
	}
}

// TestEndOfRanksThatWaitForAReader: they save, because they need not wait any more when half of the time is over.
func TestEndOfRanksThatWaitForAReader(t *testing.T) {
	t.Chdir(t.TempDir())
	begun := t.TempDir()
	t.Setenv("TEST_ENDING_FLOOD", begun)
	t.Setenv(endingVariable, "1000000")
	j := prepareEnding(t, "--grace", "12s")
	j.cmd.Stdout = unreadPipe(t)
	require.NoError(t, j.cmd.Start())
	require.Eventually(t, func() bool {
		ranks, err := os.ReadDir(begun)
		return err == nil && len(ranks) == 4
	}, time.Minute, time.Millisecond)
	j.signal(syscall.SIGTERM, j.launcher())
	require.Equal(t, 75, j.ends(), "%s", &j.errs)
	require.Contains(t, j.errs.String(), "is stored", "%s", &j.errs)
	require.Contains(t, j.errs.String(), "given up")
	t.Setenv("TEST_ENDING_FLOOD", "")
	j.goesOn()
}
