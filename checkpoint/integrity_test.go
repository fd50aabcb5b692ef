package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
)

// stored is a directory with the versions of iterations 0..3, of which the last
// two are kept, written by two ranks.
func stored(t *testing.T) (dir string, newest, older string) {
	dir = t.TempDir()
	err := afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		p := newProgram(t, c, true, WithPath(dir))
		defer p.cp.Close()
		return p.run(ctx, 4, 1)
	})
	require.NoError(t, err)
	versions, err := filepath.Glob(filepath.Join(dir, "prog", "v-*"))
	require.NoError(t, err)
	require.Len(t, versions, 2)
	return dir, versions[1], versions[0]
}

// restartFrom restarts two ranks and returns the iteration that each got, after
// checking that the values are those of it.
func restartFrom(t *testing.T, dir string, opts ...Option) (int, error) {
	from := make([]int, 2)
	err := afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		p := newProgram(t, c, true, append(opts, WithPath(dir))...)
		defer p.cp.Close()
		if err := p.cp.RestartIfNeeded(ctx, &p.iter); err != nil {
			return err
		}
		from[c.Rank()] = p.iter
		v, sums := reference(p.iter)
		if !slices.Equal(v[p.lo:p.hi], p.v) || !slices.Equal(sums, p.sums) {
			return fmt.Errorf("what was read is not the state of iteration %d", p.iter)
		}
		return nil
	})
	require.Equal(t, from[0], from[1])
	return from[0], err
}

func partFile(version string, rank int) string {
	return filepath.Join(version, fmt.Sprintf("rank-%05d-of-00002.craft", rank))
}

// Whatever is done to a file of the newest version is found, and the version
// before it is restored.
func TestDamageFallsBack(t *testing.T) {
	replace := func(name string, change func([]byte) []byte) func(t *testing.T, dir, newest, older string) {
		return func(t *testing.T, _, newest, _ string) {
			file := filepath.Join(newest, name)
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, change(data), 0o600))
		}
	}
	const one = "rank-00001-of-00002.craft"
	for name, damage := range map[string]func(t *testing.T, dir, newest, older string){
		"empty":       replace(one, func([]byte) []byte { return nil }),
		"one byte":    replace(one, func(b []byte) []byte { return b[:1] }),
		"cut":         replace(one, func(b []byte) []byte { return b[:len(b)-1] }),
		"half":        replace(one, func(b []byte) []byte { return b[:len(b)/2] }),
		"longer":      replace(one, func(b []byte) []byte { return append(b, 0) }),
		"zeros":       replace(one, func(b []byte) []byte { return make([]byte, len(b)) }),
		"foreign":     replace(one, func([]byte) []byte { return []byte(strings.Repeat("not a checkpoint ", 100)) }),
		"doubled":     replace(one, func(b []byte) []byte { return append(b, b...) }),
		"text mode":   replace(one, func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "\r\n", "\n")) }),
		"part absent": func(t *testing.T, _, newest, _ string) { require.NoError(t, os.Remove(partFile(newest, 1))) },
		"both parts swapped": func(t *testing.T, _, newest, _ string) {
			require.NoError(t, os.Rename(partFile(newest, 0), partFile(newest, 0)+"x"))
			require.NoError(t, os.Rename(partFile(newest, 1), partFile(newest, 0)))
			require.NoError(t, os.Rename(partFile(newest, 0)+"x", partFile(newest, 1)))
		},
		"part of the older version": func(t *testing.T, _, newest, older string) {
			data, err := os.ReadFile(partFile(older, 1))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(partFile(newest, 1), data, 0o600))
		},
		"part is a directory": func(t *testing.T, _, newest, _ string) {
			require.NoError(t, os.Remove(partFile(newest, 1)))
			require.NoError(t, os.Mkdir(partFile(newest, 1), 0o700))
		},
		"older version copied to a newer number": func(t *testing.T, _, newest, older string) {
			require.NoError(t, os.RemoveAll(newest))
			name := strings.Replace(filepath.Base(older), "v-000003", "v-000009", 1)
			require.NoError(t, os.CopyFS(filepath.Join(filepath.Dir(older), name), os.DirFS(older)))
		},
		"newest version renamed": func(t *testing.T, _, newest, _ string) {
			last := "0"
			if strings.HasSuffix(newest, last) {
				last = "1"
			}
			require.NoError(t, os.Rename(newest, newest[:len(newest)-1]+last))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, newest, older := stored(t)
			damage(t, dir, newest, older)
			from, err := restartFrom(t, dir)
			require.NoError(t, err)
			require.Equal(t, 3, from, "the older version is that of iteration 2")
		})
	}
}

// One flipped bit anywhere in a file of the newest version: the values that are
// read are right, those of the newest version (the bit was in padding that is
// not read) or of the older one.
func TestEveryFlippedBitIsFound(t *testing.T) {
	dir, newest, _ := stored(t)
	data, err := os.ReadFile(partFile(newest, 1))
	require.NoError(t, err)
	rng := testseed.Rand(t)
	fellBack := 0
	positions := choose(rng, rng.Perm(len(data))[:min(len(data), 1500)], 4)
	for _, at := range positions {
		bad := slices.Clone(data)
		bad[at] ^= 1 << rng.IntN(8)
		require.NoError(t, os.WriteFile(partFile(newest, 1), bad, 0o600))
		from, err := restartFrom(t, dir)
		require.NoError(t, err, "byte %d", at)
		if from == 3 {
			fellBack++
		} else {
			require.Equal(t, 4, from)
		}
	}
	t.Logf("%d of %d flipped bits set the version aside", fellBack, len(positions))
	require.GreaterOrEqual(t, fellBack, len(positions)*9/10)
}

func TestNoUsableVersion(t *testing.T) {
	dir, newest, older := stored(t)
	for _, v := range []string{newest, older} {
		require.NoError(t, os.Truncate(partFile(v, 0), 100))
	}
	_, err := restartFrom(t, dir)
	require.ErrorIs(t, err, ErrNoUsableVersion)
	require.ErrorIs(t, err, storage.ErrDamaged)
	require.ErrorContains(t, err, "CRAFT_READ_CP_ON_RESTART=0")
	// Nothing was deleted: somebody may still repair it.
	require.DirExists(t, newest)
	require.DirExists(t, older)
}

// Damage that only one rank sees sets the version aside on all.
func TestDamageOfOneRankCountsForAll(t *testing.T) {
	dir, newest, _ := stored(t)
	f, err := os.OpenFile(partFile(newest, 1), os.O_RDWR, 0)
	require.NoError(t, err)
	b := make([]byte, 1)
	info, err := f.Stat()
	require.NoError(t, err)
	for at := info.Size() / 3; at < info.Size()/3+200; at++ {
		_, err = f.ReadAt(b, at)
		require.NoError(t, err)
		b[0] ^= byte(1 + rand.IntN(255))
		_, err = f.WriteAt(b, at)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	from, err := restartFrom(t, dir)
	require.NoError(t, err)
	require.Equal(t, 3, from)
}

// A program that meets an error on one rank sees it on all.
func TestErrorsAreTheSameOnAllRanks(t *testing.T) {
	dir, _, _ := stored(t)
	errs := make([]error, 2)
	_ = afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		cp, err := New("prog", c, WithPath(dir))
		require.NoError(t, err)
		var x int
		require.NoError(t, cp.Add("mine", &x))
		require.NoError(t, cp.Commit())
		errs[c.Rank()] = cp.RestartIfNeeded(ctx, nil)
		return cp.Close()
	})
	for r, err := range errs {
		require.ErrorIs(t, err, ErrKey, "rank %d", r)
	}
	var remote *RankError
	require.True(t, errors.As(errs[1], &remote))
	require.EqualValues(t, 0, remote.Rank)
}
