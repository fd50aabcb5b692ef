package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
)

const warmVariable = "CRAFT_TEST_WARM"

// warm is a sweep whose points begin with what the point before has ended with, as
// programs write it: x begins as prev, once more at each point, and both loops also have
// a map.
func warm(ctx context.Context, dieAfter int, dir string) (string, error) {
	x, found := []float64{1, 2, 3}, map[int]float64{}
	prev, best := x, found
	outer, err1 := checkpoint.New("outer", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
	inner, err2 := checkpoint.New("inner", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet))
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	defer outer.Close()
	defer inner.Close()
	point := 0
	err := errors.Join(outer.Add("prev", &prev), outer.Add("best", &best), inner.Add("x", &x), inner.Add("found", &found),
		outer.Commit(), inner.Commit(), outer.SubCP(inner), outer.RestartIfNeeded(ctx, &point))
	if err != nil {
		return "", err
	}
	for ; point < 3; point++ {
		x, found = prev, map[int]float64{}
		iter := 0
		if err := inner.RestartIfNeeded(ctx, &iter); err != nil {
			return "", err
		}
		for ; iter < 3; iter++ {
			next := make([]float64, len(x))
			for i := range x {
				next[i] = x[i] - prev[i]/2 + best[iter]
			}
			x, found[iter] = next, next[iter]
			if err := errors.Join(inner.UpdateAndWrite(ctx, iter, 1), inner.Wait(ctx)); err != nil {
				return "", err
			}
			if 3*point+iter == dieAfter {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		prev, best = x, found
		if err := errors.Join(outer.UpdateAndWrite(ctx, point, 1), outer.Wait(ctx)); err != nil {
			return "", err
		}
	}
	return fmt.Sprint(x, prev, best), nil
}

// TestWarmProcess is what the processes of TestKilledProcessWithSharedLoops run.
func TestWarmProcess(t *testing.T) {
	var dieAfter int
	var dir string
	if n, _ := fmt.Sscan(os.Getenv(warmVariable), &dieAfter, &dir); n < 2 {
		t.Skip("for processes that are killed")
	}
	out, err := warm(t.Context(), dieAfter, dir)
	require.NoError(t, err)
	fmt.Println("result:", out)
}

// A process is killed in an inner loop; its successor begins with an inner value that
// shares memory with an outer one, and goes on as if nothing had happened.
func TestKilledProcessWithSharedLoops(t *testing.T) {
	want, err := warm(t.Context(), -1, t.TempDir())
	require.NoError(t, err)
	for _, mode := range []string{"CRAFT_WRITE_ASYNC=0", "CRAFT_WRITE_ASYNC=1"} {
		for after := range 9 {
			t.Run(fmt.Sprint(mode, " after ", after), func(t *testing.T) {
				dir := t.TempDir()
				_, killed := runProcess(t, "TestWarmProcess", fmt.Sprintf("%s=%d %s", warmVariable, after, dir), mode)
				require.True(t, killed)
				got, _ := runProcess(t, "TestWarmProcess", fmt.Sprintf("%s=-1 %s", warmVariable, dir), mode)
				require.Equal(t, want, got)
			})
		}
	}
}
