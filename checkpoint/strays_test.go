package checkpoint

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// strays puts copies of a part beside it under names that lie.
func strays(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	prefix, _, _ := strings.Cut(filepath.Base(file), "rank-")
	for _, part := range []storage.Part{{Rank: 0, Size: math.MaxInt32}, {Rank: math.MaxInt32 - 1, Size: math.MaxInt32}, {Rank: 1, Size: 9}} {
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), prefix+part.String()), data, 0o600))
	}
}

func TestStrayPartsAtHome(t *testing.T) {
	dir := t.TempDir()
	x := 1
	store(t, dir, map[string]any{"x": &x})
	strays(t, one(t, glob(t, filepath.Join(dir, "test", "v-*", "rank-*"))))
	iter := 0
	require.NoError(t, open(t, dir, map[string]any{"x": &x}).RestartIfNeeded(t.Context(), &iter))
	require.Equal(t, 8, iter)
}

// A version of which nothing is there but a name that speaks of two thousand million
// ranks is one that was interrupted.
func TestNothingButAStrayPart(t *testing.T) {
	dir := t.TempDir()
	x := 1
	store(t, dir, map[string]any{"x": &x})
	v := filepath.Join(dir, "test", "v-000009-0123456789abcdef")
	require.NoError(t, os.Mkdir(v, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(v, storage.Part{Rank: 7, Size: math.MaxInt32}.String()), nil, 0o600))
	iter := 0
	require.NoError(t, open(t, dir, map[string]any{"x": &x}).RestartIfNeeded(t.Context(), &iter))
	require.Equal(t, 8, iter)
	require.NoDirExists(t, v)
}

// On a node, of each kind of object, also when parity is needed.
func TestStrayPartsOnNodes(t *testing.T) {
	for _, levels := range sample(t, []string{"partner", "xor,pfs:2", "rs"}, 1) {
		t.Run(levels, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.job(t, levels, 5, none)
			for _, kind := range []string{"rank-00002", "copy-", "parity-rank-00002"} {
				for _, version := range []int{4, 5} {
					if files := n.files(t, version, kind); len(files) > 0 {
						strays(t, files[0])
					}
				}
			}
			n.lose(t, 0)
			require.Contains(t, n.job(t, levels, 9, none), "iteration=4")
			// Nothing but strays of a newer version.
			v := filepath.Join(n.place(t, 2), "v-000099-0123456789abcdef")
			require.NoError(t, os.Mkdir(v, 0o700))
			for _, prefix := range []string{"", "copy-", "parity-"} {
				require.NoError(t, os.WriteFile(filepath.Join(v, prefix+storage.Part{Rank: 7, Size: math.MaxInt32}.String()), nil, 0o600))
			}
			require.Contains(t, n.job(t, levels, 12, none), "iteration=8")
		})
	}
}
