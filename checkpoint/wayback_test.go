package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// countingJob counts iterations, in a job that is started again and again.
type countingJob struct {
	dir  string
	opts []Option
	freq int // 0: 1
	// before is called before the checkpoint of each iteration; nil: nothing is.
	before func(cp *Checkpoint, iter int) error
}

// start runs a job that does some iterations more, with a version of each, and returns the iteration
// that it began with.
func (j countingJob) start(t testing.TB, more int, opts ...Option) (from int, err error) {
	log := slog.New(slog.DiscardHandler)
	all := slices.Concat([]Option{WithPath(j.dir), WithLogger(log)}, j.opts, opts)
	cp, err := New("prog", nil, all...)
	require.NoError(t, err)
	defer func() { err = errors.Join(err, cp.Close()) }()
	sum := 0
	require.NoError(t, errors.Join(cp.Add("sum", &sum), cp.Commit()))
	iter := 0
	if err := cp.RestartIfNeeded(t.Context(), &iter); err != nil {
		return -1, err
	}
	require.Equal(t, iter*(iter-1)/2, sum, "the values are those of another iteration")
	from = iter
	for ; iter < from+more; iter++ {
		if err := cp.Wait(t.Context()); err != nil {
			return from, err
		}
		sum += iter
		if j.before != nil {
			if err := j.before(cp, iter); err != nil {
				return from, err
			}
		}
		if err := cp.UpdateAndWrite(t.Context(), iter, max(j.freq, 1)); err != nil {
			return from, err
		}
	}
	return from, cp.Wait(t.Context())
}

func (j countingJob) startsAt(t *testing.T, want, more int, opts ...Option) {
	t.Helper()
	from, err := j.start(t, more, opts...)
	require.NoError(t, err)
	require.Equal(t, want, from)
}

// numbers are those of the stored versions.
func (j countingJob) numbers(t *testing.T) (all []uint64) {
	for _, id := range j.stored(t) {
		all = append(all, id.Version)
	}
	return all
}

func (j countingJob) stored(t *testing.T) (all []storage.ID) {
	home, err := filestore.New(filestore.Config{Path: j.dir, Name: "prog"})
	require.NoError(t, err)
	entries, err := home.List(t.Context())
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.ID)
	}
	return all
}

func (j countingJob) home(t *testing.T) *filestore.Store {
	home, err := filestore.New(filestore.Config{Path: j.dir, Name: "prog"})
	require.NoError(t, err)
	return home
}

func (j countingJob) note(t *testing.T) *storage.WayBack {
	note, err := filestore.WayBack(vfs.OS(), filepath.Join(j.dir, "prog"))
	require.NoError(t, err)
	return note
}

// damage flips a byte of the values of a version.
func (j countingJob) damage(t *testing.T, number uint64) {
	files, err := filepath.Glob(filepath.Join(j.dir, "prog", fmt.Sprintf("v-%06d-*", number), "*.craft"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		for i := len(data) / 2; i < len(data); i++ {
			data[i] ^= 1
		}
		require.NoError(t, os.WriteFile(f, data, 0o600))
	}
}

// A script that is started ten times with one way back goes back once.
func TestWayBackIsTakenOnce(t *testing.T) {
	j := countingJob{dir: t.TempDir(), opts: []Option{WithKeep(4)}}
	j.startsAt(t, 0, 5)
	at := 2 // version 2 is of iteration 1
	for range 10 {
		j.startsAt(t, at, 3, WithRestartFrom("2"), WithStrict())
		at += 3
	}
	j.startsAt(t, at, 1) // without it too
	require.False(t, j.note(t).Pending())
}

func TestWaysBack(t *testing.T) {
	back := WithRestartFrom
	for name, steps := range map[string]func(t *testing.T, j countingJob){
		"before the first version it goes back again": func(t *testing.T, j countingJob) {
			j.startsAt(t, 3, 0, back("3"))
			j.startsAt(t, 3, 0, back("3"))
			j.startsAt(t, 3, 0) // what was passed over is not gone on from
			j.startsAt(t, 3, 0, WithStrict())
			j.startsAt(t, 3, 1, back("3"))
			j.startsAt(t, 4, 0)
		},
		"two values are two ways back": func(t *testing.T, j countingJob) {
			j.startsAt(t, 4, 1, back("4"))
			j.startsAt(t, 3, 1, back("3"))
			j.startsAt(t, 4, 1, back("3"))
			j.startsAt(t, 4, 0, back("4")) // it was another one in between
		},
		"by iteration": func(t *testing.T, j countingJob) {
			j.startsAt(t, 4, 1, back("iteration=3"), WithStrict())
			j.startsAt(t, 5, 0, back("iteration=3"), WithStrict())
		},
		"by the name of the directory": func(t *testing.T, j countingJob) {
			j.startsAt(t, 3, 1, back(j.stored(t)[0].String()))
		},
		"two branches have the iteration": func(t *testing.T, j countingJob) {
			j.startsAt(t, 3, 2, back("3")) // versions 6 and 7 are of iterations 3 and 4
			j.startsAt(t, 5, 0)
			j.startsAt(t, 4, 0, back("iteration=3"))
			require.Equal(t, uint64(6), j.note(t).Target().Version, "that of the branch")
		},
		"two other branches have it": func(t *testing.T, j countingJob) {
			j.startsAt(t, 3, 1, back("3")) // 6 is of iteration 3, like 4
			j.startsAt(t, 3, 0, back(j.stored(t)[0].String()))
			_, err := j.start(t, 0, back("iteration=3"))
			require.ErrorIs(t, err, ErrNoUsableVersion)
			require.ErrorContains(t, err, "fits several")
			require.ErrorContains(t, err, "v-000004-")
			require.ErrorContains(t, err, "v-000006-")
			j.startsAt(t, 3, 0) // nothing has changed
		},
		"one that is not there": func(t *testing.T, j countingJob) {
			_, err := j.start(t, 0, back("77"))
			require.ErrorIs(t, err, ErrNoUsableVersion)
			require.ErrorContains(t, err, "v-000005-")
			require.ErrorContains(t, err, "iteration 4")
			require.Nil(t, j.note(t))
			j.startsAt(t, 5, 0)
		},
		"one that is damaged": func(t *testing.T, j countingJob) {
			j.damage(t, 3)
			for _, opts := range [][]Option{nil, {WithStrict()}, {WithStrict(AllowDamaged)}} {
				_, err := j.start(t, 0, append(opts, back("3"))...)
				require.Error(t, err)
				require.Nil(t, j.note(t))
			}
			_, err := j.start(t, 0, back("3"))
			require.ErrorIs(t, err, ErrNoUsableVersion)
			require.ErrorContains(t, err, "v-000004-", "it says what there is")
			j.startsAt(t, 5, 0) // without it all is as before
		},
		"one that is damaged later": func(t *testing.T, j countingJob) {
			j.startsAt(t, 3, 0, back("3"))
			j.damage(t, 3)
			_, err := j.start(t, 0)
			require.ErrorIs(t, err, ErrNoUsableVersion)
			require.ErrorContains(t, err, "craft restore")
			j.startsAt(t, 4, 1, back("4")) // which is another way back
			j.startsAt(t, 5, 0)
		},
		"the branch falls back to where it began, and no further": func(t *testing.T, j countingJob) {
			j.startsAt(t, 4, 1, back("4"))
			j.damage(t, 6)
			j.startsAt(t, 4, 0)
			j.damage(t, 4)
			_, err := j.start(t, 0)
			require.ErrorIs(t, err, ErrNoUsableVersion)
		},
		"the note is damaged": func(t *testing.T, j countingJob) {
			j.startsAt(t, 3, 1, back("3"))
			file := filepath.Join(j.dir, "prog", storage.WayBackName)
			require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
			_, err := j.start(t, 0)
			require.ErrorContains(t, err, storage.WayBackName+" is damaged")
			require.NoError(t, os.Remove(file))
			j.startsAt(t, 4, 0)
		},
		"a computation that is begun anew ends it": func(t *testing.T, j countingJob) {
			j.startsAt(t, 3, 0, back("3"))
			j.startsAt(t, 0, 0, WithReadOnRestart(false))
			j.startsAt(t, 3, 0) // nothing of it is stored
			j.startsAt(t, 0, 2, WithReadOnRestart(false))
			j.startsAt(t, 2, 0)
			j.startsAt(t, 2, 0, back("3")) // it was taken
			j.startsAt(t, 5, 1, back("5")) // of another computation
			j.startsAt(t, 6, 0)
		},
		"to the newest": func(t *testing.T, j countingJob) {
			j.startsAt(t, 5, 1, back("5"))
			j.startsAt(t, 6, 0, back("5"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := countingJob{dir: t.TempDir(), opts: []Option{WithKeep(3)}}
			j.startsAt(t, 0, 5)
			require.Equal(t, []uint64{3, 4, 5}, j.numbers(t))
			steps(t, j)
		})
	}
}

// What is passed over stays until the branch has as many versions as are kept.
func TestWhatIsPassedOverStaysForAWhile(t *testing.T) {
	j := countingJob{dir: t.TempDir(), opts: []Option{WithKeep(3)}}
	j.startsAt(t, 0, 5)
	j.startsAt(t, 3, 2, WithRestartFrom("3"))
	require.Equal(t, []uint64{3, 4, 5, 6, 7}, j.numbers(t))
	require.Equal(t, []storage.PassedBranch{{Name: "to-5", Newest: j.stored(t)[2].String()}}, j.note(t).Passed)
	j.startsAt(t, 5, 0)
	j.startsAt(t, 5, 1, WithRestartFrom("3"))
	require.Equal(t, []uint64{6, 7, 8}, slices.DeleteFunc(j.numbers(t), func(n uint64) bool { return n < 6 }))
	require.NotContains(t, j.numbers(t), uint64(4))
	require.NotContains(t, j.numbers(t), uint64(5))
	j.startsAt(t, 6, 0)
}

// The note of craft restore is taken by the next start, and the variable that was taken
// before does not count against it.
func TestWayBackByNote(t *testing.T) {
	j := countingJob{dir: t.TempDir(), opts: []Option{WithKeep(9)}}
	j.startsAt(t, 0, 5)
	j.startsAt(t, 3, 2, WithRestartFrom("3")) // 6, 7
	leave := func(to storage.ID) {
		home, err := filestore.New(filestore.Config{Path: j.dir, Name: "prog"})
		require.NoError(t, err)
		note := storage.NewWayBack(storage.BranchID{1, byte(to.Version)}, to, storage.Target{Version: to.Version}, "craft restore", j.note(t))
		require.NoError(t, filestore.SetWayBack(t.Context(), home, note))
	}
	leave(j.stored(t)[1])
	j.startsAt(t, 2, 1, WithRestartFrom("3")) // 8 of iteration 2
	j.startsAt(t, 3, 1, WithRestartFrom("3"))
	leave(j.stored(t)[4]) // what the first one has passed over
	j.startsAt(t, 5, 0)
	j.startsAt(t, 5, 0, WithRestartFrom("3"), WithStrict())
	leave(j.stored(t)[0])
	j.startsAt(t, 0, 1, WithReadOnRestart(false)) // passes the note over
	j.startsAt(t, 1, 0)
	require.False(t, j.note(t).Pending())
}

func TestWayBackSettings(t *testing.T) {
	for value, want := range map[string]string{
		"x": "CRAFT_RESTART_FROM", "0": "from 1 on", "-1": "from 1 on", "iteration=": "whole number", "iteration=1.5": "whole number",
		"milestone=": "it is empty", "milestone=a/b": "slash", "milestone=" + strings.Repeat("x", 101): "101 bytes", "v-1": "from 1 on",
	} {
		_, err := New("prog", nil, WithPath(t.TempDir()), WithRestartFrom(value))
		require.ErrorContains(t, err, want, value)
	}
	_, err := New("prog", nil, WithPath(t.TempDir()), WithRestartFrom("3"), WithReadOnRestart(false))
	require.ErrorContains(t, err, "CRAFT_READ_CP_ON_RESTART=0")
}

// All ranks must have been told the same.
func TestWayBackIsTheSameOnAllRanks(t *testing.T) {
	dir := t.TempDir()
	j := countingJob{dir: dir}
	j.startsAt(t, 0, 2)
	err := afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		p := newProgram(t, c, false, WithPath(t.TempDir()), WithRestartFrom(fmt.Sprint(1+c.Rank())))
		defer p.cp.Close()
		return p.cp.RestartIfNeeded(ctx, &p.iter)
	})
	require.ErrorIs(t, err, ErrDisagree)
	require.ErrorContains(t, err, "CRAFT_RESTART_FROM")
}
