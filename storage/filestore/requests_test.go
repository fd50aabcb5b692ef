package filestore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

func halt(job string) storage.Request {
	return storage.Request{Format: 1, Job: job, Kind: storage.RequestHalt, Created: time.Now().UTC().Truncate(time.Second), By: "me@here"}
}

func saved() storage.Answer { return storage.Answer{Format: 1, State: storage.AnswerSaved, Version: 3} }

func files(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestRequestAndAnswer(t *testing.T) {
	dir := t.TempDir()
	r := RequestsIn(vfs.OS(), dir)
	q := halt("a")
	q.AfterCheckpoints = 3
	id, err := r.Ask(q)
	require.NoError(t, err)
	list, err := r.ListRequests(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{id}, list)
	asked, err := r.ReadRequest(t.Context(), id)
	require.NoError(t, err)
	require.NoError(t, asked.Err)
	require.Equal(t, q, asked.Request)
	require.Nil(t, asked.Answer)

	require.NoError(t, r.AnswerRequest(t.Context(), id, storage.Answer{Format: 1, State: storage.AnswerWaiting, Counted: 2}))
	asked, err = r.ReadRequest(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, 2, asked.Answer.Counted)
	require.NoError(t, r.AnswerRequest(t.Context(), id, saved()))
	require.Equal(t, []string{AnswerPrefix + id + ".json"}, files(t, dir))
	all, err := r.All(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.ErrorIs(t, all[0].Err, fs.ErrNotExist)
	require.EqualValues(t, 3, all[0].Answer.Version)
	was, err := r.RemoveRequest(t.Context(), id)
	require.NoError(t, err)
	require.False(t, was)
	require.Empty(t, files(t, dir))
}

// Whatever comes first, of an answer and of taking the request back: nothing stays.
func TestRequestTakenBackWhileItIsAnswered(t *testing.T) {
	for _, state := range []storage.AnswerState{storage.AnswerAsked, storage.AnswerSaved} {
		dir := t.TempDir()
		for _, kind := range []vfs.OpKind{vfs.OpCreate, vfs.OpRename, vfs.OpRemove, vfs.OpStat, vfs.OpSyncDir} {
			command := RequestsIn(vfs.OS(), dir)
			id, err := command.Ask(halt("a"))
			require.NoError(t, err)
			var once sync.Once
			job := RequestsIn(vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
				if op.Kind == kind {
					once.Do(func() { _, err = command.RemoveRequest(t.Context(), id) })
				}
				return nil
			}), dir)
			require.NoError(t, job.AnswerRequest(t.Context(), id, storage.Answer{Format: 1, State: state}))
			require.NoError(t, err)
			_, err = command.RemoveRequest(t.Context(), id) // it ends after the job has answered, or before
			require.NoError(t, err)
			require.Empty(t, files(t, dir), "%v at %v", state, kind)
		}
	}
	dir := t.TempDir()
	r := RequestsIn(vfs.OS(), dir)
	id, err := r.Ask(halt("a"))
	require.NoError(t, err)
	_, err = r.RemoveRequest(t.Context(), id)
	require.NoError(t, err)
	for _, state := range []storage.AnswerState{storage.AnswerAsked, storage.AnswerSaved} {
		require.NoError(t, r.AnswerRequest(t.Context(), id, storage.Answer{Format: 1, State: state}))
		require.Empty(t, files(t, dir), state)
	}
}

// A start deletes hidden files as those of a crash, also that of a request which is being written.
func TestRequestDuringAStart(t *testing.T) {
	dir := t.TempDir()
	var once sync.Once
	swept := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if op.Kind == vfs.OpRename {
			once.Do(func() {
				for _, name := range files(t, dir) {
					require.True(t, isTemporary(name), name)
					require.NoError(t, os.Remove(filepath.Join(dir, name)))
				}
			})
		}
		return nil
	})
	id, err := RequestsIn(swept, dir).Ask(halt("a"))
	require.NoError(t, err)
	require.Equal(t, []string{RequestPrefix + id + ".json"}, files(t, dir))
}

// What was left is there after a crash, and what was removed is not: the next job must not end by it.
func TestRequestsAreDurable(t *testing.T) {
	rng := testseed.Rand(t)
	disk := vfs.NewMem()
	require.NoError(t, vfs.MkdirAll(disk, "/c", 0o700, true))
	r := RequestsIn(disk, "/c")
	id, err := r.Ask(halt("a"))
	require.NoError(t, err)
	for range 20 {
		list, err := RequestsIn(disk.Crash(rng.Float64(), rng), "/c").ListRequests(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{id}, list)
	}
	require.NoError(t, r.AnswerRequest(t.Context(), id, storage.Answer{Format: 1, State: storage.AnswerAsked}))
	_, err = r.RemoveRequest(t.Context(), id)
	require.NoError(t, err)
	for range 20 {
		all, err := RequestsIn(disk.Crash(rng.Float64(), rng), "/c").All(t.Context())
		require.NoError(t, err)
		require.Empty(t, all)
	}
}

func TestRequestThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	full := errors.New("full")
	for _, kind := range []vfs.OpKind{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpRename, vfs.OpSyncDir} {
		failing := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			if op.Kind == kind {
				return full
			}
			return nil
		})
		_, err := RequestsIn(failing, dir).Ask(halt("a"))
		require.ErrorIs(t, err, full)
		require.Empty(t, files(t, dir), kind)
	}
	_, err := RequestsIn(vfs.OS(), dir).Ask(storage.Request{Format: 1, Job: "a", Kind: "explode", By: "me"})
	require.ErrorContains(t, err, "explode")
}

// No name leads out of the directory, and nothing but a file of some size is read.
func TestRequestsThatAreNone(t *testing.T) {
	dir := t.TempDir()
	r := RequestsIn(vfs.OS(), dir)
	for _, id := range []string{"", "..", "../../../etc/passwd", "0123456789ABCDEF", "0123456789abcdef\n", strings.Repeat("a", 17)} {
		_, err := r.ReadRequest(t.Context(), id)
		require.ErrorIs(t, err, storage.ErrName, id)
		_, err = r.ReadAnswer(id)
		require.ErrorIs(t, err, storage.ErrName, id)
		_, err = r.RemoveRequest(t.Context(), id)
		require.ErrorIs(t, err, storage.ErrName, id)
		require.ErrorIs(t, r.AnswerRequest(t.Context(), id, saved()), storage.ErrName, id)
		require.NoError(t, errors.Join(os.WriteFile(filepath.Join(dir, "REQUEST-0123456789abcde.json"), nil, 0o600),
			os.WriteFile(filepath.Join(dir, "REQUEST-0123456789abcdef.json.bak"), nil, 0o600)))
	}
	list, err := r.ListRequests(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)

	const id = "0123456789abcdef"
	path := filepath.Join(dir, RequestPrefix+id+".json")
	for name, plant := range map[string]func() error{
		"directory": func() error { return os.Mkdir(path, 0o700) },
		"large":     func() error { return os.WriteFile(path, make([]byte, requestLimit+1), 0o600) },
		"nowhere":   func() error { return os.Symlink("/nowhere/at/all", path) },
		"loop":      func() error { return os.Symlink(path, path) },
		"damaged":   func() error { return os.WriteFile(path, []byte(`{"format":1,"job"`), 0o600) },
	} {
		require.NoError(t, plant(), name)
		asked, err := r.ReadRequest(t.Context(), id)
		require.NoError(t, err, name)
		require.ErrorContains(t, asked.Err, path, name)
		require.False(t, asked.Passing, name)
		require.NoError(t, r.AnswerRequest(t.Context(), id, storage.Answer{Format: 1, State: storage.AnswerFailed}), name)
		require.NoFileExists(t, path)
		_, err = r.RemoveRequest(t.Context(), id)
		require.NoError(t, err)
	}
	broken := RequestsIn(vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		if op.Kind == vfs.OpRead {
			return errors.New("input/output error")
		}
		return nil
	}), dir)
	known, err := r.Ask(halt("a"))
	require.NoError(t, err)
	asked, err := broken.ReadRequest(t.Context(), known)
	require.NoError(t, err)
	require.True(t, asked.Passing)
}

// What a start finds of old requests it removes, unless they are to its own job.
func TestOldRequestsGo(t *testing.T) {
	base := t.TempDir()
	s, err := New(Config{Path: base, Name: "c", Lock: LockConfig{Job: "mine"}})
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(s.Dir(), 0o700))
	r := RequestsOf(s)
	ask := func(job string, answered, old bool) string {
		id, err := r.Ask(halt(job))
		require.NoError(t, err)
		if answered {
			require.NoError(t, r.AnswerRequest(t.Context(), id, saved()))
		}
		if old {
			past := time.Now().Add(-25 * time.Hour)
			_ = os.Chtimes(r.path(RequestPrefix, id), past, past)
			_ = os.Chtimes(r.path(AnswerPrefix, id), past, past)
		}
		return id
	}
	stays := map[string]bool{
		ask("mine", false, true): true, ask("mine", false, false): true, ask("other", false, false): true, ask("other", false, true): false,
		ask("other", true, false): true, ask("other", true, true): false,
	}
	damaged := "00000000000000aa"
	require.NoError(t, os.WriteFile(r.path(RequestPrefix, damaged), []byte("{"), 0o600))
	past := time.Now().Add(-25 * time.Hour)
	require.NoError(t, os.Chtimes(r.path(RequestPrefix, damaged), past, past))
	stays[damaged] = false
	hidden := filepath.Join(s.Dir(), ".REQUEST-00000000000000aa.json.0123456789abcdef.tmp")
	require.NoError(t, os.WriteFile(hidden, nil, 0o600))
	require.NoError(t, s.Prepare(t.Context(), func(storage.Entry) bool { return true }))
	left := strings.Join(files(t, s.Dir()), " ")
	for id, is := range stays {
		require.Equal(t, is, strings.Contains(left, id), id)
	}
	require.NoFileExists(t, hidden)
}

func TestRequestsHaveNamesOfTheirOwn(t *testing.T) {
	for _, name := range []string{"REQUEST-0123456789abcdef.json", "ANSWER-0123456789abcdef.json"} {
		require.ErrorIs(t, CheckName(name), storage.ErrName)
	}
}

func TestModeOfRequests(t *testing.T) {
	dir := t.TempDir()
	r := RequestsIn(vfs.OS(), dir)
	require.EqualValues(t, 0o600, r.Mode())
	require.NoError(t, os.WriteFile(filepath.Join(dir, LockName), nil, 0o600))
	require.NoError(t, os.Chmod(filepath.Join(dir, LockName), 0o664))
	require.EqualValues(t, 0o664, r.Mode())
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"format":1,"job":"j","kind":"halt","at":"2026-01-01T00:00:00Z","created":"2026-01-01T00:00:00Z","by":"me"}`))
	f.Add([]byte(`{"format":1,"state":"saved","version":3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if q, err := storage.ParseRequest(data); err == nil {
			require.NoError(t, q.Validate())
			require.NotEmpty(t, q.When())
		}
		if a, err := storage.ParseAnswer(data); err == nil {
			_ = a.Final()
		}
	})
}
