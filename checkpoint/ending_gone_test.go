package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/demand"
)

// What somebody has deleted before the end is not named as what a restart goes on from.
func TestEndNamesWhatIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		remove string // below the path
		left   uint64
		file   bool // in its place
	}{"all": {"loop", 0, false}, "all, for a file": {"loop", 0, true}, "the newest": {"loop/v-000003-*", 2, false}, "an old one": {"loop/v-000001-*", 3, false}} {
		t.Run(name, func(t *testing.T) {
			remove := func(dir string) {
				found, err := filepath.Glob(filepath.Join(dir, c.remove))
				require.NoError(t, err)
				for _, path := range found {
					require.NoError(t, os.RemoveAll(path))
					if c.file {
						require.NoError(t, os.WriteFile(path, nil, 0o600))
					}
				}
			}
			check := func(err error) {
				var d *DeadlineError
				require.ErrorAs(t, err, &d)
				require.False(t, d.Saved)
				require.Equal(t, c.left, d.Version, "%v", d)
				if c.left == 0 {
					require.Equal(t, int64(NoIteration), d.Iteration)
					require.ErrorContains(t, d, "nothing is stored")
				}
			}
			dir, p, x := t.TempDir(), demand.NewLocal(), []float64{1}
			refuses := false
			guard := Guard("test", func() error {
				if refuses {
					return errLost
				}
				return nil
			})
			cp, err := New("loop", nil, WithPath(dir), withPoint(p), WithKeep(3))
			require.NoError(t, err)
			require.NoError(t, errors.Join(cp.Add("x", &x, guard), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil)))
			for iter := range 3 {
				require.NoError(t, cp.UpdateAndWrite(t.Context(), iter, 1))
			}
			remove(dir)
			refuses = true
			p.Ask(end("x"))
			err = cp.UpdateAndWrite(t.Context(), 3, 1)
			check(err)
			if c.left > 0 {
				var d *DeadlineError
				require.ErrorAs(t, err, &d)
				require.EqualValues(t, c.left-1, d.Iteration)
			}
			_ = cp.Close() // it may say that the directory is gone

			// A job that is to end before it has begun knows the versions from what stands beside them.
			p = demand.NewLocal()
			p.Ask(end("x"))
			_, _, err = runToEnd(t.Context(), dir, p, 100, 10, nil)
			check(err)
		})
	}
}
