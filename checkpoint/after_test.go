package checkpoint

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
