package checkpoint

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
)

// The end needs a step of the checkpoint that comes first, if it can save, and not of the one around it.
func TestNestedSteps(t *testing.T) {
	for freq, want := range map[int]time.Duration{1: time.Minute, 100: 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			p, disk := demand.NewLocal(), vfs.NewMem()
			outer, err1 := New("outer", nil, WithPath("/cp"), withFS(disk), withPoint(p))
			inner, err2 := New("inner", nil, WithPath("/cp"), withFS(disk), withPoint(p))
			require.NoError(t, errors.Join(err1, err2))
			x := 1
			require.NoError(t, errors.Join(outer.Add("x", &x), outer.Commit(), inner.Add("x", &x), inner.Commit(), outer.SubCP(inner)))
			require.NoError(t, outer.RestartIfNeeded(t.Context(), nil))
			for stage := range 3 {
				for iter := range 10 {
					time.Sleep(time.Minute)
					require.NoError(t, inner.UpdateAndWrite(t.Context(), iter, 3))
				}
				require.NoError(t, outer.UpdateAndWrite(t.Context(), stage+1, freq))
			}
			require.Equal(t, want, outer.meet.needs().step)
			require.NoError(t, errors.Join(inner.Close(), outer.Close()))
		})
	}
}
