package filestore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

func TestNamesOfNotes(t *testing.T) {
	s := newStore(t, "/cp", SyncFull, vfs.NewMem())
	for _, name := range []string{"", "nodes.json", "NODES", "A/B.json", LatestName} {
		require.ErrorIs(t, s.PutNote(t.Context(), name, nil), storage.ErrName, "%q", name)
	}
	note, err := s.Note(t.Context(), NodesName)
	require.NoError(t, err)
	require.Nil(t, note, "there is none")
}

func seed(t *testing.T) *rand.Rand {
	s := rand.Uint64()
	if text := os.Getenv("CRAFT_TEST_SEED"); text != "" {
		var err error
		s, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("replay with CRAFT_TEST_SEED=%d", s)
	return rand.New(rand.NewPCG(s, 0))
}

// No crash of the machine leaves a part of a note, whatever is synced otherwise:
// without a note that can be understood a job does not start.
func TestCrashWhileANoteIsWritten(t *testing.T) {
	rng := seed(t)
	for _, policy := range []Sync{SyncFull, SyncNone} {
		disk := vfs.NewMem()
		s := newStore(t, "/cp", policy, disk)
		var known [][]byte
		promised := -1 // the last of them that was written when the crash came
		type state struct {
			disk     *vfs.Mem
			promised int
			where    string
		}
		var states []state
		disk.OnOp(func(op vfs.Op) {
			for range 5 {
				states = append(states, state{disk.Crash(rng.Float64(), rng), promised, fmt.Sprintf("%s, after %v", policy, op)})
			}
		})
		for i := range 6 {
			note := bytes.Repeat([]byte{'a' + byte(i)}, 5000*(1+i%3)) // several pages
			known = append(known, note)
			require.NoError(t, s.PutNote(t.Context(), NodesName, note))
			promised = i
		}
		require.Greater(t, len(states), 100)
		for _, c := range states {
			got, err := newStore(t, "/cp", policy, c.disk).Note(t.Context(), NodesName)
			require.NoError(t, err, c.where)
			found := -1
			for i, note := range known {
				if bytes.Equal(got, note) {
					found = i
				}
			}
			require.True(t, got == nil || found >= 0, "%s: a part of a note", c.where)
			if policy == SyncFull {
				require.GreaterOrEqual(t, found, c.promised, c.where)
			}
		}
	}
}
