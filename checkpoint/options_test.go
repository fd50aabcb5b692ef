package checkpoint

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// What is no constant of a setting is refused by New, with the names of those that are.
func TestOptionsThatCannotBeMeant(t *testing.T) {
	for want, opt := range map[string]Option{
		`CRAFT_SYNC="some"`:               WithSync("some"),
		`CRAFT_COMPRESS="zip"`:            WithCompression("zip"),
		`CRAFT_STRICT="1,allow-absent"`:   WithStrict(Strict, AllowAbsent),
		`asynchronous mode "sometimes"`:   WithAsync("sometimes"),
		`CRAFT_LEVELS="local:0"`:          WithLevels(storage.Local.Every(0)),
		`CRAFT_LEVELS="local:1,local:2"`:  WithLevels(storage.Local.Every(1), storage.Local.Every(2)),
		`CRAFT_LEVELS="captured:1,pfs:2"`: WithLevels(storage.Level{}.Every(1), storage.PFS.Every(2)),
	} {
		_, err := New("x", nil, WithPath(t.TempDir()), opt)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "allowed are")
	}
}

// Options win over the environment, in both directions.
func TestOptionsWin(t *testing.T) {
	t.Setenv("CRAFT_STRICT", "1")
	t.Setenv("CRAFT_LEVELS", "local:1")
	set := func(opts ...Option) *Checkpoint {
		cp, err := New("x", nil, append(opts, WithPath(t.TempDir()))...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, cp.Close()) })
		return cp
	}
	for want, opt := range map[Strictness]Option{
		NotStrict: WithStrict(NotStrict), Strict: WithStrict(), "allow-absent,allow-lineage": WithStrict(AllowAbsent, AllowLineage),
	} {
		require.Equal(t, want, set(opt).opt.Strict)
	}
	require.True(t, set().leveled())
	require.False(t, set(WithLevels()).leveled())
	require.False(t, set(WithLevels(storage.Local.Every(1), storage.PFS.Every(50)), DisableSCR()).leveled())
	require.Equal(t, "local:1,pfs:50", set(WithLevels(storage.Local.Every(1), storage.PFS.Every(50))).opt.Levels)
}

func TestAsyncModeOfAFlag(t *testing.T) {
	var mode AsyncMode
	f := flag.NewFlagSet("x", flag.ContinueOnError)
	f.TextVar(&mode, "async", AsyncCopy, "")
	require.NoError(t, f.Parse(nil))
	require.Equal(t, AsyncCopy, mode)
	require.NoError(t, f.Set("async", "zero-copy"))
	require.Equal(t, AsyncZeroCopy, mode)
	require.ErrorIs(t, f.Set("async", "some"), ErrArgument)
}
