package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
)

const wavesVariable = "CRAFT_TEST_WAVES"

// waves is a recurrence over two steps, as programs write it: prev begins as x, and the
// rows of a matrix as one row. In its second edition it also counts.
func waves(ctx context.Context, edition, dieAfter int, dir string) (string, error) {
	x, counts := []float64{1, 2, 3}, struct{ Steps int }{}
	prev, row := x, make([]float64, 3)
	rows := [][]float64{row, row, row}
	cp, err := checkpoint.New("waves", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
	if err != nil {
		return "", err
	}
	defer cp.Close()
	err = errors.Join(cp.Add("x", &x), cp.Add("prev", &prev), cp.Add("rows", &rows))
	if edition == 2 {
		err = errors.Join(err, cp.Add("counts", &counts, checkpoint.Optional()))
	}
	iter := 0
	if err = errors.Join(err, cp.Commit(), cp.RestartIfNeeded(ctx, &iter)); err != nil {
		return "", err
	}
	for ; iter < 9; iter++ {
		next := make([]float64, len(x))
		for i := range x {
			next[i] = x[i] - prev[i]/2
		}
		prev, x = x, next
		counts.Steps++
		rows[iter%3] = append([]float64{}, x...)
		if err := errors.Join(cp.UpdateAndWrite(ctx, iter, 1), cp.Wait(ctx)); err != nil {
			return "", err
		}
		if iter == dieAfter {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	return fmt.Sprint(x, prev, rows, " ", counts.Steps), nil
}

// TestWavesProcess is what the processes of TestKilledProcessWithSharedMemory run.
func TestWavesProcess(t *testing.T) {
	var edition, dieAfter int
	var dir string
	if n, _ := fmt.Sscan(os.Getenv(wavesVariable), &edition, &dieAfter, &dir); n < 3 {
		t.Skip("for processes that are killed")
	}
	out, err := waves(t.Context(), edition, dieAfter, dir)
	require.NoError(t, err)
	fmt.Println("result:", out)
}

func runWaves(t *testing.T, edition, dieAfter int, dir string, env ...string) (result string, killed bool) {
	return runProcess(t, "TestWavesProcess", append(env, fmt.Sprintf("%s=%d %d %s", wavesVariable, edition, dieAfter, dir))...)
}

// runProcess runs a test in a process of its own.
func runProcess(t *testing.T, test string, env ...string) (result string, killed bool) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return "", true
	}
	require.NoError(t, err, "%s", out)
	_, after, _ := bytes.Cut(out, []byte("result: "))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	return string(line), false
}

// A process is killed; its successor begins with values that share memory, which they
// did not when they were stored, and goes on as if nothing had happened.
func TestKilledProcessWithSharedMemory(t *testing.T) {
	want, err := waves(t.Context(), 1, -1, t.TempDir())
	require.NoError(t, err)
	want = want[:len(want)-1]
	for _, mode := range []string{"CRAFT_WRITE_ASYNC=0", "CRAFT_WRITE_ASYNC=1", "CRAFT_WRITE_ASYNC_ZERO_COPY=1"} {
		for _, after := range []int{0, 1, 4} {
			t.Run(fmt.Sprint(mode, " after ", after), func(t *testing.T) {
				dir := t.TempDir()
				_, killed := runWaves(t, 1, after, dir, mode)
				require.True(t, killed)
				got, _ := runWaves(t, 1, -1, dir, mode)
				require.Equal(t, want, got[:len(got)-1])
			})
		}
	}
}

// A new edition of a program is killed when it has stored one version, and that is
// damaged: the one after it knows nothing of what only this version had.
func TestKilledProcessAndDamagedVersion(t *testing.T) {
	dir := t.TempDir()
	_, killed := runWaves(t, 1, 4, dir)
	require.True(t, killed)
	_, killed = runWaves(t, 2, 5, dir)
	require.True(t, killed)
	newest, err := filepath.Glob(filepath.Join(dir, "waves", "v-000006-*", "*"))
	require.NoError(t, err)
	require.Len(t, newest, 1)
	data, err := os.ReadFile(newest[0])
	require.NoError(t, err)
	at := bytes.Index(data, []byte("\x8bCS\x01"))
	require.Positive(t, at, "where counts begins")
	data[at] ^= 1
	require.NoError(t, os.WriteFile(newest[0], data, 0o600))
	got, _ := runWaves(t, 2, -1, dir)
	require.Equal(t, "4", got[len(got)-1:], "iterations 5 to 8")
}
