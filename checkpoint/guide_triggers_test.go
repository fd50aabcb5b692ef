package checkpoint_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
)

// 9. How often, and what it costs: when to save.

func openWithTriggers(dir string, opts ...checkpoint.Option) (*checkpoint.Checkpoint, error) {
	opts = append(opts, checkpoint.WithPath(dir),
		checkpoint.WithTriggers(checkpoint.EveryTime(10*time.Minute), checkpoint.Every(1000)))
	return checkpoint.New("heat", nil, opts...)
}

func openWithAuto(dir string, opts ...checkpoint.Option) (*checkpoint.Checkpoint, error) {
	opts = append(opts, checkpoint.WithPath(dir),
		checkpoint.WithTriggers(checkpoint.Auto(checkpoint.MTBF(24*time.Hour)))) // or Auto(): it is learned
	return checkpoint.New("heat", nil, opts...)
}

func TestGuideTriggers(t *testing.T) {
	for want, open := range []func(string, ...checkpoint.Option) (*checkpoint.Checkpoint, error){openWithAuto, openWithTriggers} {
		cp, err := open(t.TempDir(), checkpoint.WithLogger(quiet))
		require.NoError(t, err)
		require.NoError(t, cp.Commit())
		for iter := range 100 {
			require.NoError(t, cp.UpdateAndWrite(t.Context(), iter, 0))
		}
		require.Equal(t, want, cp.Stats().VersionsWritten)
		require.NoError(t, cp.Close())
	}
}

func ExampleWithTriggers() {
	dir, err := os.MkdirTemp("", "heat-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cp, err := checkpoint.New("heat", nil, checkpoint.WithPath(dir), checkpoint.WithLogger(quiet),
		checkpoint.WithTriggers(checkpoint.EveryTime(10*time.Minute), checkpoint.Every(40)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cp.Close()
	x := 1.0
	cp.Add("x", &x)
	if err := cp.Commit(); err != nil {
		fmt.Println(err)
		return
	}
	for iter := range 100 { // which takes less than ten minutes
		x /= 2
		if err := cp.UpdateAndWrite(context.Background(), iter, 0); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(cp.Stats().VersionsWritten, "versions")
	// Output: 3 versions
}
