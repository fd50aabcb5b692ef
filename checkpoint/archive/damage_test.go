package archive_test

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint/archive"
	"github.com/craft-go/craft/internal/testseed"
)

// Whatever is flipped, cut, deleted or replaced by another file, in whichever places: what
// is read is right, or an error.
func TestRandomDamage(t *testing.T) {
	rng := testseed.Rand(t)
	read := map[bool]int{}
	for _, levels := range []string{"", "partner", "xor", "rs", "xor,pfs"} {
		j := newJob(t)
		j.run(t, levels, 2, nil)
		whole := files(t, j)
		for range 40 {
			for range 1 + rng.IntN(4) {
				damage(t, rng, j)
			}
			a, err := archive.Open(t.Context(), j.dir())
			require.NoError(t, err)
			versions, err := a.Versions(t.Context())
			if err == nil {
				for _, v := range versions {
					s, err := a.Snapshot(t.Context(), v.ID)
					if err == nil {
						err = readV(t, s, int(v.ID.Version))
					}
					read[err == nil]++
				}
			}
			restore(t, j, whole)
		}
	}
	t.Log(read)
	require.Greater(t, min(read[true], read[false]), 20)
}

// readV reads the largest value, which is right if there is no error.
func readV(t *testing.T, s *archive.Snapshot, version int) error {
	v, _, err := archive.Array[float64](t.Context(), s, "v")
	if err != nil {
		return err
	}
	require.Len(t, v, arraySize)
	for i, x := range v {
		require.Equal(t, element(version, i), x)
	}
	var mine int64
	if err := s.Read(t.Context(), "mine", 1, &mine); err != nil {
		return err
	}
	require.EqualValues(t, 100*version+1, mine)
	return nil
}

// files are all that a job has left.
func files(t *testing.T, j job) map[string][]byte {
	out := make(map[string][]byte)
	require.NoError(t, filepath.WalkDir(filepath.Dir(j.base), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out[path], err = os.ReadFile(path)
		}
		return err
	}))
	return out
}

func restore(t *testing.T, j job, whole map[string][]byte) {
	for path := range files(t, j) {
		if _, known := whole[path]; !known {
			require.NoError(t, os.Remove(path))
		}
	}
	for path, data := range whole {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
}

func damage(t *testing.T, rng *rand.Rand, j job) {
	var parts []string
	for path := range files(t, j) {
		if strings.HasSuffix(path, ".craft") {
			parts = append(parts, path)
		}
	}
	slices.Sort(parts) // so that a seed replays
	if len(parts) < 2 {
		return
	}
	path, other := parts[rng.IntN(len(parts))], parts[rng.IntN(len(parts))]
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	switch rng.IntN(6) {
	case 0:
		require.NoError(t, os.Remove(path))
		return
	case 1:
		require.NoError(t, os.RemoveAll(filepath.Dir(path)))
		return
	case 2:
		data = data[:rng.IntN(len(data)+1)]
	case 3:
		data, err = os.ReadFile(other)
		require.NoError(t, err)
	default:
		if len(data) > 0 {
			data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
		}
	}
	require.NoError(t, os.WriteFile(path, data, 0o600))
}
