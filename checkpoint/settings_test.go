package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
)

// TestSettingsOfRanksDiffer: what would be a deadlock is an error on all ranks that
// names the variable and a rank.
func TestSettingsOfRanksDiffer(t *testing.T) {
	nodes := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	for name, c := range map[string]struct {
		wrong Option
		want  string
	}{
		"no levels":       {withLevels(""), `CRAFT_LEVELS (from the environment, or the option in its place) is "partner:1" on rank 0 and "" on rank 2`},
		"other levels":    {withLevels("local:1"), `is "partner:1" on rank 0 and "local:1" on rank 2`},
		"without nodes":   {func(o *options) { o.UseSCR = false }, `CRAFT_USE_SCR`},
		"guards":          {withGuard(guardFinite), `CRAFT_GUARD (from the environment, or the option in its place) is "off" on rank 0 and "finite" on rank 2`},
		"size of sets":    {func(o *options) { o.SetSize = 2; o.RSParity = 1 }, `CRAFT_SET_SIZE`},
		"does not read":   {WithReadOnRestart(false), `CRAFT_READ_CP_ON_RESTART`},
		"writes behind":   {WithAsync(AsyncCopy), `CRAFT_WRITE_ASYNC`},
		"less often full": {WithDelta(3), `CRAFT_DELTA`},
		"keeps one":       {WithKeep(1), `CRAFT_KEEP`},
		"other triggers":  {WithTriggers(EveryTime(time.Minute)), `CRAFT_CP_FREQ or WithTriggers (from the environment, or the option in its place) is "" on rank 0 and "1m0s" on rank 2`},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			err := afttest.Run(t.Context(), 3, func(ctx context.Context, co *comm.Comm) error {
				opts := []Option{WithPath(home), withLevels("partner:1"), WithNodePath(nodes[co.Rank()]), WithLogger(nil), WithDelta(4)}
				if co.Rank() == 2 {
					opts = append(opts, c.wrong)
				}
				cp, err := New("differ", co, opts...)
				if err != nil {
					return err
				}
				defer cp.Close()
				x := 1.0
				if err := cp.Add("x", &x); err != nil {
					return err
				}
				if err := cp.Commit(); err != nil {
					return err
				}
				err = cp.RestartIfNeeded(ctx, nil)
				require.ErrorIs(t, err, ErrDisagree)
				require.ErrorContains(t, err, c.want)
				return nil
			})
			require.NoError(t, err)
		})
	}
}

// What means the same, or has no effect, may be written in another way.
func TestSettingsOfRanksAreTheSame(t *testing.T) {
	home, nodes := t.TempDir(), []string{t.TempDir(), t.TempDir()}
	require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, co *comm.Comm) error {
		opts := []Option{WithPath(home), WithNodePath(nodes[co.Rank()]), WithLogger(nil), withLevels("partner, pfs:2")}
		if co.Rank() == 1 {
			opts = append(opts, withLevels("PFS:2,partner:1"), WithKeep(1), func(o *options) { o.DeltaFull = 3 })
		}
		cp, err := New("same", co, opts...)
		if err != nil {
			return err
		}
		x := 1.0
		return errors.Join(cp.Add("x", &x), cp.Commit(), cp.RestartIfNeeded(ctx, nil), cp.Close())
	}))
}

// A variable that has no effect is said to have none, once.
func TestVariablesWithoutEffect(t *testing.T) {
	var log bytes.Buffer
	dir, x := t.TempDir(), 1
	make := func(opts ...Option) string {
		log.Reset()
		cp := vars{"x": &x}.checkpoint(t, nil, dir, append(opts, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))...)
		require.NoError(t, cp.Close())
		return log.String()
	}
	t.Setenv("CRAFT_CP_PATH", dir+"/")
	require.Empty(t, make(), "they are the same")
	t.Setenv("CRAFT_CP_PATH", filepath.Join(dir, "of the user"))
	require.Contains(t, make(), "CRAFT_CP_PATH is not used")
	require.Empty(t, make(), "it was said")

	t.Setenv("CRAFT_DEBUG_PROC", "1")
	require.Empty(t, make(), "there are no messages")
	for _, variable := range []string{"CRAFT_DEBUG", "CRAFT_TIMING"} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, "1")
			require.Contains(t, make(), "CRAFT_DEBUG_PROC names a rank that there is not")
		})
	}
}
