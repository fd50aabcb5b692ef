package checkpoint

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

func TestAfterVersion(t *testing.T) {
	for _, mode := range allModes {
		var told []Version
		wait := make(chan struct{})
		cp, err := New("x", nil, WithPath(t.TempDir()), WithAsync(mode), WithAfterVersion(func(v Version) {
			<-wait // the program goes on
			told = append(told, v)
		}))
		require.NoError(t, err)
		x := 1
		require.NoError(t, errors.Join(cp.Add("x", &x), cp.Commit()))
		for i := range 3 {
			require.NoError(t, cp.UpdateAndWrite(t.Context(), i, 1))
		}
		close(wait)
		require.NoError(t, cp.Close())
		require.Len(t, told, 3)
		for i, v := range told {
			require.EqualValues(t, i, v.Iteration)
			require.EqualValues(t, i+1, v.Number)
		}
		require.DirExists(t, told[2].Path)
	}
}

// Close does not wait for ever for the program's own function.
func TestAfterVersionThatHangs(t *testing.T) {
	wait := make(chan struct{})
	defer close(wait)
	cp, err := New("x", nil, WithPath(t.TempDir()), WithDrainTimeout(time.Millisecond), WithAfterVersion(func(Version) { <-wait }))
	require.NoError(t, err)
	x := 1
	require.NoError(t, errors.Join(cp.Add("x", &x), cp.Commit(), cp.Write(t.Context())))
	require.ErrorContains(t, cp.Close(), "WithAfterVersion")
}

// A version that nobody has waited for before Close is told of, if rank 0 sees that it is complete.
func TestAfterVersionAtClose(t *testing.T) {
	dir, told := t.TempDir(), make(chan Version, 9)
	require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		cp, err := New("x", c, WithPath(dir), WithAsync(AsyncCopy), WithAfterVersion(func(v Version) { told <- v }))
		if err != nil {
			return err
		}
		x := 1
		err = errors.Join(cp.Add("x", &x), cp.Commit(), cp.UpdateAndWrite(ctx, 0, 1), cp.Wait(ctx), cp.UpdateAndWrite(ctx, 1, 1))
		if c.Rank() == 0 && err == nil {
			last := cp.line.flight.Load()
			err = eventually(func() bool { return allParts(cp.out, ctx, last.header) == nil })
		}
		return errors.Join(err, cp.Close())
	}))
	require.Len(t, told, 2)
}
