package nodelocal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// What a killed process has left is not in the way of the next one.
func TestLeftOverIsNotInTheWay(t *testing.T) {
	s := newStore(t, config("/node", vfs.NewMem()))
	key := someKey(1, storage.KindCopy, 0)
	dead, err := s.CreateObject(t.Context(), key)
	require.NoError(t, err)
	_, err = io.WriteString(dead, "half")
	require.NoError(t, err)
	put(t, s, key, "whole")
	require.Equal(t, "whole", get(t, s, key))
}

// Of two writers of one object, each puts a whole one in place.
func TestTwoWritersOfOneObject(t *testing.T) {
	s := newStore(t, config("/node", vfs.NewMem()))
	key := someKey(1, storage.KindCopy, 0)
	a, err := s.CreateObject(t.Context(), key)
	require.NoError(t, err)
	b, err := s.CreateObject(t.Context(), key)
	require.NoError(t, err)
	for range 3 {
		_, err = io.WriteString(a, "a")
		require.NoError(t, err)
		_, err = io.WriteString(b, "bb")
		require.NoError(t, err)
	}
	require.NoError(t, b.Commit())
	require.Equal(t, "bbbbbb", get(t, s, key))
	require.NoError(t, a.Commit())
	require.Equal(t, "aaa", get(t, s, key))
}

// A writer whose version was removed fails, and takes nothing with it that was
// written since.
func TestLateWriterHarmsNobody(t *testing.T) {
	s := newStore(t, config("/node", vfs.NewMem()))
	key := someKey(1, storage.KindPart, 0)
	late, err := s.CreateObject(t.Context(), key)
	require.NoError(t, err)
	require.NoError(t, s.Remove(t.Context(), key.ID))
	put(t, s, key, "new")
	require.Error(t, late.Commit())
	require.Equal(t, "new", get(t, s, key))
}

// Another process, whose write has failed, removes the version's directory
// while it is empty.
func TestVersionDirectoryGoesAway(t *testing.T) {
	mem := vfs.NewMem()
	s := newStore(t, config("/node", mem))
	key := someKey(1, storage.KindPart, 0)
	removed := 0
	mem.OnOp(func(op vfs.Op) {
		if op.Kind == vfs.OpMkdir && op.Path == s.Path(key.ID) && removed < 3 {
			removed++
			require.NoError(t, mem.Remove(op.Path))
		}
	})
	put(t, s, key, "x")
	require.Equal(t, 3, removed)
}

func TestCancelledCreate(t *testing.T) {
	s := newStore(t, config("/node", vfs.NewMem()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.CreateObject(ctx, someKey(1, storage.KindPart, 0))
	require.ErrorIs(t, err, context.Canceled)
}

// A full storage is told as such, keeps what it has, and goes on when there is
// space again.
func TestFullStorage(t *testing.T) {
	mem := vfs.NewMem()
	c := config("/node", mem)
	s := newStore(t, c)
	put(t, s, someKey(1, storage.KindPart, 0), "old")
	used := mem.Used()
	mem.SetCapacity(used + 10)
	for _, key := range []storage.ObjectKey{someKey(2, storage.KindPart, 0), someKey(1, storage.KindPart, 0)} { // also over an old one
		err := tryPut(s, key, strings.Repeat("x", 100))
		require.ErrorIs(t, err, ErrNoSpace)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.ErrorContains(t, err, "CRAFT_NODE_PATH")
		require.Equal(t, used, mem.Used(), "the half-written file is gone")
		require.Equal(t, []storage.ObjectKey{someKey(1, storage.KindPart, 0)}, keys(t, newStore(t, c)))
		require.Equal(t, "old", get(t, s, someKey(1, storage.KindPart, 0)))
	}
	mem.SetCapacity(-1)
	put(t, s, someKey(3, storage.KindPart, 0), strings.Repeat("x", 100))
}

// A storage that is full from the start cannot even be signed.
func TestFullFromTheStart(t *testing.T) {
	mem := vfs.NewMem()
	mem.SetCapacity(10)
	s := newStore(t, config("/node", mem))
	require.ErrorIs(t, tryPut(s, someKey(1, storage.KindPart, 0), "x"), ErrNoSpace)
	require.Empty(t, keys(t, s))
	require.Zero(t, mem.Used())
	mem.SetCapacity(-1)
	put(t, s, someKey(1, storage.KindPart, 0), "x")
}

// Wherever the system says that there is no space, or that the user's share is
// used up, the error tells it.
func TestNoSpaceIsRecognised(t *testing.T) {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		for _, kind := range []vfs.OpKind{vfs.OpMkdir, vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpClose, vfs.OpRename, vfs.OpSyncDir} {
			mem := vfs.NewMem()
			put(t, newStore(t, config("/node", mem)), someKey(1, storage.KindPart, 0), "old")
			failing := newStore(t, config("/node", vfs.WithErrors(mem, func(op vfs.Op) error {
				if op.Kind == kind && (kind != vfs.OpMkdir || strings.Contains(op.Path, "v-")) && !strings.HasSuffix(op.Path, OwnerName) {
					return full
				}
				return nil
			})))
			err := tryPut(failing, someKey(2, storage.KindPart, 0), "new")
			require.ErrorIs(t, err, ErrNoSpace, "%v at %v", full, kind)
			require.ErrorIs(t, err, full)
			require.Equal(t, []storage.ObjectKey{someKey(1, storage.KindPart, 0)}, keys(t, newStore(t, config("/node", mem))))
		}
	}
	s := newStore(t, config("/node", vfs.NewMem()))
	require.NotErrorIs(t, s.recognise(syscall.EIO), ErrNoSpace)
	require.NoError(t, s.recognise(nil))
}

// processEnv makes a process of this test's program one of a node: its rank
// and the root.
const processEnv = "CRAFT_TEST_NODELOCAL"

const processes = 4

// TestProcess is what each process of TestProcessesOfANode does.
func TestProcess(t *testing.T) {
	number, root, found := strings.Cut(os.Getenv(processEnv), ":")
	if !found {
		t.Skip("run by TestProcessesOfANode")
	}
	rank, err := strconv.Atoi(number)
	require.NoError(t, err)
	c := config(root, nil)
	c.smallestSpare = 1
	s := newStore(t, c)
	_, err = io.Copy(io.Discard, os.Stdin) // all start at once
	require.NoError(t, err)
	for v := uint64(1); v <= 5; v++ {
		put(t, s, someKey(v, storage.KindPart, rank), fmt.Sprint(rank))
		put(t, s, someKey(v, storage.KindCopy, 7), "the same of all")
		// The directory of this version comes and goes.
		w, err := s.CreateObject(t.Context(), someKey(50, storage.KindParity, rank))
		require.NoError(t, err)
		require.NoError(t, w.Abort())
		// Here all remove what others are writing: writes may fail, nothing else.
		_ = tryPut(s, someKey(60, storage.KindPart, rank), "")
		require.NoError(t, s.Remove(t.Context(), someKey(60, storage.KindPart, rank).ID))
	}
}

// Several processes make the place, write into the same versions and delete
// some at once.
func TestProcessesOfANode(t *testing.T) {
	root := t.TempDir()
	var group sync.WaitGroup
	start := make(chan struct{})
	for rank := range processes {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcess$", "-test.timeout=60s")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d:%s", processEnv, rank, root))
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		require.NoError(t, cmd.Start())
		group.Go(func() {
			<-start
			_ = in.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("process %d: %v\n%s", rank, err, out.String())
			}
		})
	}
	close(start)
	group.Wait()
	s := newStore(t, config(root, nil))
	for v := uint64(1); v <= 5; v++ {
		for rank := range processes {
			require.Equal(t, fmt.Sprint(rank), get(t, s, someKey(v, storage.KindPart, rank)))
		}
		require.Equal(t, "the same of all", get(t, s, someKey(v, storage.KindCopy, 7)))
	}
	require.Len(t, keys(t, s), 5*(processes+1))
	require.NoError(t, s.Prepare(t.Context(), func(e storage.Entry) bool { return e.ID.Version == 5 }))
	require.Len(t, keys(t, s), processes+1)
	for _, name := range tree(t, s.Dir())[1:] {
		require.NotEqual(t, '.', rune(filepath.Base(name)[0]), "a left-over: %s", name)
	}
}
