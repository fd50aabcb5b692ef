package program

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/launch"
)

func TestParse(t *testing.T) {
	f := flag.NewFlagSet("test", flag.ContinueOnError)
	n := f.Int("n", 1, "")
	require.NoError(t, Parse(f, []string{"-n", "2"}))
	require.Equal(t, 2, *n)
	require.ErrorContains(t, Parse(f, []string{"-n", "2", "more"}), `unexpected argument "more"`)
}

// TestJob of one rank: its result is printed if it has one, and its profile is written.
func TestJob(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "cpu")
	j := Job{Launch: func(*launch.Config) {}, Profile: prefix, Body: func(context.Context) error { return nil }}
	for want, result := range map[string]any{"": nil, "[1]\n": []int{1}} {
		var out bytes.Buffer
		j.Result = func() any { return result }
		code, err := j.Run(&out)
		require.NoError(t, err)
		require.Zero(t, code)
		require.Equal(t, want, out.String())
	}
	written, err := filepath.Glob(prefix + ".*")
	require.NoError(t, err)
	require.Len(t, written, 1)
	why := errors.New("failed")
	j.Body = func(context.Context) error { return why }
	code, err := j.Run(nil)
	require.ErrorIs(t, err, why)
	require.Equal(t, 1, code)
}
