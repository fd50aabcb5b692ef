package nodelocal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

const (
	brief = 20 * time.Millisecond // patience of one that is refused
	long  = 5 * time.Minute       // of one that gets in
)

// ofJob returns the store of a checkpoint on disk, for a process of a job.
func ofJob(t testing.TB, root, job string, patience time.Duration) *Store {
	c := config(root, nil)
	c.Sync, c.Job, c.Patience = filestore.SyncNone, job, patience
	s := newStore(t, c)
	t.Cleanup(s.Leave)
	return s
}

func requireUsed(t testing.TB, err error, s *Store) {
	t.Helper()
	require.ErrorIs(t, err, storage.ErrLocked)
	me := procid.This()
	for _, want := range []string{s.Dir(), "locked by another job", fmt.Sprintf("on host %s since", me.Host), "CRAFT_NODE_PATH"} {
		require.ErrorContains(t, err, want)
	}
}

func TestPlaceOfAnotherJob(t *testing.T) {
	root := t.TempDir()
	a := ofJob(t, root, "a", long)
	require.NoError(t, a.Prepare(t.Context(), nil))
	put(t, a, someKey(1, storage.KindPart, 0), "of a")

	b := ofJob(t, root, "b", brief)
	requireUsed(t, b.Prepare(t.Context(), func(storage.Entry) bool { return false }), b)
	requireUsed(t, tryPut(b, someKey(1, storage.KindPart, 0), "of b"), b)
	require.Equal(t, "of a", get(t, a, someKey(1, storage.KindPart, 0)))

	a.Leave()
	require.NoError(t, b.Prepare(t.Context(), nil))
	requireUsed(t, ofJob(t, root, "a", brief).Prepare(t.Context(), nil), a)
	put(t, a, someKey(1, storage.KindCopy, 0), "late") // who has left is not asked
	require.NotNil(t, b.lock)
}

// A job that is just ending is waited for.
func TestPlaceOfAJobThatEnds(t *testing.T) {
	root := t.TempDir()
	a, b := ofJob(t, root, "a", long), ofJob(t, root, "b", long)
	require.NoError(t, a.Prepare(t.Context(), nil))
	require.ErrorIs(t, b.tryOccupy(vfs.OS().(vfs.Locker)), storage.ErrLocked)
	entered := make(chan error)
	go func() { entered <- b.Prepare(t.Context(), nil) }()
	a.Leave()
	require.NoError(t, <-entered)
}

// No process of a job keeps another one out, of whichever epoch, nor does another job
// that looks whether it may come in.
func TestPlaceOfOneJob(t *testing.T) {
	root := t.TempDir()
	first := ofJob(t, root, "a", long)
	require.NoError(t, first.Prepare(t.Context(), nil))
	var ranks sync.WaitGroup
	other := ofJob(t, root, "b", brief)
	for range 8 {
		ranks.Go(func() {
			for range 50 {
				s := ofJob(t, root, "a", long)
				if err := s.Prepare(t.Context(), nil); err != nil || s.lock == nil {
					t.Errorf("it is kept out, or not in: %v", err)
				}
				if err := other.tryOccupy(vfs.OS().(vfs.Locker)); !errors.Is(err, storage.ErrLocked) {
					t.Errorf("another one: %v", err)
				}
				s.Leave()
			}
		})
	}
	ranks.Wait()
	later := ofJob(t, root, "a", brief)
	require.NoError(t, later.Prepare(t.Context(), nil))
	first.Leave()
	requireUsed(t, other.Prepare(t.Context(), nil), other)
	later.Leave()
	require.NoError(t, other.Prepare(t.Context(), nil))
}

// A place that was deleted is one's own again when it was made again.
func TestPlaceMadeAgainIsLocked(t *testing.T) {
	root := t.TempDir()
	a, b := ofJob(t, root, "a", long), ofJob(t, root, "b", brief)
	key := someKey(1, storage.KindPart, 0)
	put(t, a, key, "first")
	require.NoError(t, os.RemoveAll(a.Dir()))
	require.ErrorIs(t, tryPut(a, key, "second"), storage.ErrVanished)
	put(t, a, key, "third")
	requireUsed(t, b.Prepare(t.Context(), nil), b)
	require.Equal(t, "third", get(t, a, key))
}

const holdVariable = "NODELOCAL_TEST_HOLD"

// The system frees the lock of a process that is killed.
func TestPlaceOfAKilledJob(t *testing.T) {
	if root := os.Getenv(holdVariable); root != "" {
		require.NoError(t, ofJob(t, root, "killed", long).Prepare(t.Context(), nil))
		fmt.Println("in")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
		return
	}
	root := t.TempDir()
	holder := exec.Command(os.Args[0], "-test.run=^TestPlaceOfAKilledJob$")
	holder.Env = append(os.Environ(), holdVariable+"="+root)
	in, err := holder.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := holder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, holder.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "in\n", line)
	b := ofJob(t, root, "b", brief)
	requireUsed(t, b.Prepare(t.Context(), nil), b)
	require.ErrorContains(t, b.Prepare(t.Context(), nil), fmt.Sprintf("process %d on host", holder.Process.Pid))
	require.NoError(t, holder.Process.Kill())
	require.Error(t, holder.Wait())
	require.NoError(t, b.Prepare(t.Context(), nil))
	require.NotNil(t, b.lock)
}

// Where there are no locks, or none can be had, the home's decides alone.
func TestPlaceWithoutLocks(t *testing.T) {
	for _, failure := range []error{syscall.ENOTSUP, syscall.ENOSYS, syscall.ENOLCK, syscall.EINVAL, syscall.EROFS, syscall.ENOSPC, errors.ErrUnsupported} {
		root := t.TempDir()
		for _, job := range []string{"a", "b"} {
			c := config(root, vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
				if op.Kind == vfs.OpLock {
					return failure
				}
				return nil
			}))
			c.Job, c.Patience = job, long
			s := newStore(t, c)
			require.NoError(t, s.Prepare(t.Context(), nil), failure)
			put(t, s, someKey(1, storage.KindPart, 0), job)
		}
	}
	memory := vfs.NewMem()
	for _, job := range []string{"a", "b"} {
		c := config("/node", memory)
		c.Job, c.Patience = job, long
		require.NoError(t, newStore(t, c).Prepare(t.Context(), nil))
	}
}

func TestPlaceInUseIsNotRemoved(t *testing.T) {
	root := t.TempDir()
	job := func() *Job {
		places, err := Places(t.Context(), nil, root)
		require.NoError(t, err)
		require.Len(t, places, 1)
		return places[0].Job
	}
	a := ofJob(t, root, "a", long)
	put(t, a, someKey(1, storage.KindPart, 0), "of a")
	require.Equal(t, "a", job().ID)
	var refused *PlaceError
	err := RemovePlace(nil, a.Dir())
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, storage.ErrLocked)
	require.Equal(t, "of a", get(t, a, someKey(1, storage.KindPart, 0)))
	a.Leave()
	require.FileExists(t, filepath.Join(a.Dir(), JobName))
	require.Nil(t, job())
	require.NoError(t, RemovePlace(nil, a.Dir()))
	require.NoDirExists(t, a.Dir())
}
