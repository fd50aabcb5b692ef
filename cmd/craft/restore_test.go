package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// count runs a program that counts iterations, with a version of each, and returns the one that it
// began with.
func count(t *testing.T, base string, more int, at map[int]func(*checkpoint.Checkpoint), opts ...checkpoint.Option) (from int) {
	cp, err := checkpoint.New("c", nil, append([]checkpoint.Option{checkpoint.WithPath(base), checkpoint.WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	require.NoError(t, err)
	values := make([]float64, 2000)
	iter := 0
	require.NoError(t, errors.Join(cp.Add("values", &values), cp.Commit()))
	require.NoError(t, cp.RestartIfNeeded(t.Context(), &iter))
	for from = iter; iter < from+more; iter++ {
		values[iter]++
		if at[iter] != nil {
			at[iter](cp)
		}
		require.NoError(t, cp.UpdateAndWrite(t.Context(), iter, 1))
	}
	require.NoError(t, cp.Close())
	return from
}

func TestRestore(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "c")
	count(t, base, 5, map[int]func(*checkpoint.Checkpoint){2: func(cp *checkpoint.Checkpoint) { require.NoError(t, cp.Milestone("after warm-up")) }}, checkpoint.WithKeep(5))

	r := craft(t, "restore", dir, "--version", "3")
	require.Equal(t, 0, r.code, "%s", r.stderr)
	require.Contains(t, r.stderr, "v-000003-")
	require.Contains(t, r.stderr, "iteration 2")
	r = craft(t, "ls", dir)
	require.Contains(t, r.stderr, "the next start goes back to v-000003-")
	require.Contains(t, r.stdout, "after warm-up")
	l := decode[listing](t, 0, "ls", dir).Checkpoints[0]
	require.True(t, l.WayBack.Pending())
	require.Equal(t, []bool{false, false, false, true, true}, otherBranches(l))

	require.Equal(t, 3, count(t, base, 2, nil, checkpoint.WithKeep(5), checkpoint.WithStrict()))
	l = decode[listing](t, 0, "ls", dir).Checkpoints[0]
	require.False(t, l.WayBack.Pending())
	require.Len(t, l.Versions, 7)
	for _, v := range l.Versions {
		want := ""
		if v.Version == 4 || v.Version == 5 {
			want = "to-5"
		}
		require.Equal(t, want, v.Branch, "version %d", v.Version)
	}
	require.Regexp(t, `(?m)^c +5 .*\(branch to-5\)`, craft(t, "ls", dir).stdout)
	require.Equal(t, 5, count(t, base, 0, nil, checkpoint.WithKeep(5)))

	r = craft(t, "restore", dir, "--version", "5") // which was passed over
	require.Equal(t, 0, r.code, "%s", r.stderr)
	r = craft(t, "restore", dir, "--milestone", "after warm-up")
	require.Equal(t, 0, r.code, "%s", r.stderr)
	r = craft(t, "restore", dir, "--iteration", "3") // of two branches, to neither of which the next start goes
	require.Equal(t, 1, r.code)
	require.Regexp(t, "fits several.*v-000006-.*v-000004-", r.stderr)
	r = craft(t, "restore", dir, "--version", "6")
	require.Equal(t, 0, r.code, "%s", r.stderr)
	require.Equal(t, 4, count(t, base, 0, nil, checkpoint.WithKeep(5)))
	t.Setenv("CRAFT_CP_PATH", base)
	r = craft(t, "restore", "c", "--version", "1")
	require.Equal(t, 0, r.code, "%s", r.stderr)
	require.Equal(t, 1, count(t, base, 0, nil))
}

func otherBranches(l listedCheckpoint) (is []bool) {
	for _, v := range l.Versions {
		is = append(is, v.OtherBranch)
	}
	return is
}

func TestRestoreRefuses(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "c")
	count(t, base, 2, nil)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{dir}, 2, "which version"},
		{[]string{dir, "--version", "1", "--iteration", "1"}, 2, "which version"},
		{[]string{dir, "--version", "x"}, 2, "from 1 on"},
		{[]string{dir, "--milestone", "a/b"}, 2, "slash"},
		{[]string{"--version", "1"}, 2, "which directory"},
		{[]string{dir, "--version", "9"}, 1, "v-000002-"},
		{[]string{dir, "--milestone", "none"}, 1, "is not there"},
		{[]string{base, "--version", "1"}, 1, "craft restore " + dir},
		{[]string{filepath.Join(base, "no"), "--version", "1"}, 1, "does not exist"},
	} {
		r := craft(t, append([]string{"restore"}, c.args...)...)
		require.Equal(t, c.code, r.code, "%v: %s", c.args, r.stderr)
		require.Contains(t, r.stderr, c.want, "%v", c.args)
	}

	owner := filestore.Owner{Job: "job", Process: procid.This()}
	lock(t, dir, owner, time.Now())
	r := craft(t, "restore", dir, "--version", "1")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "a job is writing")
	require.NoFileExists(t, filepath.Join(dir, storage.WayBackName))
	owner.Process = deadProcess(t)
	lock(t, dir, owner, time.Now())
	r = craft(t, "restore", dir, "--version", "1")
	require.Equal(t, 0, r.code, "%s", r.stderr)
	require.NoFileExists(t, filepath.Join(dir, filestore.LockName))

	// What nobody understands is replaced.
	require.NoError(t, os.WriteFile(filepath.Join(dir, storage.WayBackName), []byte("{"), 0o600))
	require.Contains(t, craft(t, "ls", dir).stderr, "is damaged")
	r = craft(t, "restore", dir, "--version", "1")
	require.Equal(t, 0, r.code, "%s", r.stderr)
	require.Equal(t, 1, count(t, base, 0, nil))
}

// Nobody goes back to a nested checkpoint alone.
func TestRestoreOfWhatIsNested(t *testing.T) {
	base := t.TempDir()
	outer, err := checkpoint.New("outer", nil, checkpoint.WithPath(base))
	require.NoError(t, err)
	inner, err := checkpoint.New("inner", nil, checkpoint.WithPath(base))
	require.NoError(t, err)
	n := 0
	require.NoError(t, errors.Join(outer.Add("n", &n), outer.SubCP(inner), outer.Commit(), inner.Add("n", &n), inner.Commit(),
		outer.RestartIfNeeded(t.Context(), nil), inner.RestartIfNeeded(t.Context(), nil), inner.UpdateAndWrite(t.Context(), 0, 1), inner.Close(), outer.Close()))
	for _, command := range [][]string{{"restore"}, {"keep", "--label", "x"}} {
		r := craft(t, append(command, filepath.Join(base, "inner"), "--version", "1")...)
		require.Equal(t, 1, r.code)
		require.Contains(t, r.stderr, `nested in "outer"`)
	}
}

func TestKeep(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "c")
	keep := func(version int, label string, code int) result {
		r := craft(t, "keep", dir, "--version", strconv.Itoa(version), "--label", label)
		require.Equal(t, code, r.code, "%s", r.stderr)
		return r
	}
	count(t, base, 12, map[int]func(*checkpoint.Checkpoint){
		3: func(*checkpoint.Checkpoint) { keep(3, "good, so far", 0); keep(3, "good, so far", 0) },
		5: func(*checkpoint.Checkpoint) { require.Contains(t, keep(4, "too late", 1).stderr, "is not there") },
		6: func(*checkpoint.Checkpoint) { keep(6, "for a while", 0) },
		8: func(*checkpoint.Checkpoint) {
			require.Equal(t, 0, craft(t, "unkeep", dir, "--label", "for a while").code)
		},
	}, checkpoint.WithKeep(1), checkpoint.WithDelta(4))
	l := decode[listing](t, 0, "ls", dir).Checkpoints[0]
	labels := make(map[uint64][]string)
	for _, v := range l.Versions {
		labels[v.Version] = v.Labels
		require.True(t, v.Complete)
		require.Empty(t, v.MissingBases)
	}
	require.Equal(t, []string{"good, so far"}, labels[3])
	require.NotContains(t, labels, uint64(6))
	require.Equal(t, []string{"good, so far"}, decode[shownVersion](t, 0, "show", filepath.Join(dir, filepath.Base(string(l.Versions[2].Path)))).Labels)
	require.Contains(t, craft(t, "show", string(l.Versions[2].Path)).stdout, "good, so far")
	require.Equal(t, "good, so far", decode[reported](t, 0, "report", dir).Milestones[0].Label)
	require.Regexp(t, `(?m)^c +good, so far +3 +craft keep`, craft(t, "report", dir).stdout)
	require.Equal(t, 0, craft(t, "verify", dir, "--all").code)

	r := craft(t, "unkeep", dir, "--label", "other")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, `"good, so far"`)
	for _, args := range [][]string{{"keep", dir, "--version", "12"}, {"keep", dir, "--label", "x"}, {"keep", dir, "--version", "12", "--label", "a\nb"}, {"unkeep", dir}} {
		require.Equal(t, 2, craft(t, args...).code, "%v", args)
	}

	require.NoError(t, os.RemoveAll(string(l.Versions[2].Path)))
	r = craft(t, "ls", dir)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "craft unkeep")
	require.Equal(t, 0, craft(t, "unkeep", dir, "--label", "good, so far").code)
}

// A version that the job deletes while it is being marked is kept, or the command says that it is gone.
func TestKeepRaces(t *testing.T) {
	kept := 0
	for at := 0; ; at++ {
		base := t.TempDir()
		dir := filepath.Join(base, "c")
		count(t, base, 1, nil)
		files, err := filestore.New(filestore.Config{Path: base, Name: "c"})
		require.NoError(t, err)
		entries, err := files.List(t.Context())
		require.NoError(t, err)
		n, removed := -1, false
		fsys := vfs.WithErrors(vfs.OS(), func(vfs.Op) error {
			if n++; n == at {
				removed = true
				if err := files.Remove(context.Background(), entries[0].ID); err != nil && !errors.Is(err, storage.ErrKept) {
					return err
				}
			}
			return nil
		})
		r := craftOn(t, fsys, 0, "keep", dir, "--version", "1", "--label", "x")
		if !removed {
			require.Equal(t, 0, r.code, "%s", r.stderr)
			require.Positive(t, kept)
			require.Greater(t, at, kept, "it was kept each time")
			return
		}
		entries, err = files.List(t.Context())
		require.NoError(t, err)
		marks, err := filestore.MarksOf(files).List()
		require.NoError(t, err)
		if r.code == 0 {
			kept++
			require.Len(t, entries, 1, "operation %d: %s", at, r.stderr)
			require.Len(t, marks, 1, "operation %d", at)
		} else {
			require.Empty(t, marks, "operation %d: %s", at, r.stderr)
			require.Regexp(t, "gone|not there|nothing|no checkpoint|not whole|not exist", r.stderr, "operation %d", at)
		}
	}
}

// A note is for programs too.
func TestWayBackInJSON(t *testing.T) {
	base := t.TempDir()
	count(t, base, 2, nil)
	require.Equal(t, 0, craft(t, "restore", filepath.Join(base, "c"), "--iteration", "0").code)
	data, err := os.ReadFile(filepath.Join(base, "c", storage.WayBackName))
	require.NoError(t, err)
	var note map[string]any
	require.NoError(t, json.Unmarshal(data, &note))
	for _, key := range []string{"format", "branch", "to", "lineage", "iteration", "asked", "by", "above", "created", "taken"} {
		require.Contains(t, note, key)
	}
}
