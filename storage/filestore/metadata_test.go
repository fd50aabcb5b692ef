package filestore

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

func TestNamesOfNotes(t *testing.T) {
	s := newStore(t, "/cp", SyncFull, vfs.NewMem())
	for _, name := range []string{"", "nodes.json", "NODES", "A/B.json", LatestName} {
		require.ErrorIs(t, s.WriteMetadata(t.Context(), name, nil), storage.ErrName, "%q", name)
	}
	note, err := s.ReadMetadata(t.Context(), storage.ManifestName)
	require.NoError(t, err)
	require.Nil(t, note, "there is none")
}

// No crash of the machine leaves a part of a note, whatever is synced otherwise:
// without a note that can be understood a job does not start.
func TestCrashWhileANoteIsWritten(t *testing.T) {
	rng := testseed.Rand(t)
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
			require.NoError(t, s.WriteMetadata(t.Context(), storage.ManifestName, note))
			promised = i
		}
		require.Greater(t, len(states), 100)
		for _, c := range states {
			got, err := newStore(t, "/cp", policy, c.disk).ReadMetadata(t.Context(), storage.ManifestName)
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

// What keeps a file beside the versions from being read is said with what to do about it,
// unless it may pass.
func TestUnreadableNote(t *testing.T) {
	for refusal, remedy := range map[error]string{
		syscall.EACCES: "let this user read it, or move it away",
		syscall.ELOOP:  "put the right one in its place, or move it away",
		syscall.EIO:    "",
	} {
		s := newStore(t, t.TempDir(), SyncNone, vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			if op.Kind == vfs.OpOpen {
				return refusal
			}
			return nil
		}))
		require.NoError(t, s.Prepare(t.Context(), storage.Entry.Complete))
		require.NoError(t, s.Record(t.Context(), storage.Record{Attempt: "0123456789abcdef", Started: time.Now()}))
		_, latest := s.Announced(t.Context())
		_, nodes := s.ReadMetadata(t.Context(), storage.ManifestName)
		_, records := s.Records(t.Context())
		for path, err := range map[string]error{LatestName: latest, storage.ManifestName: nodes, RecordPrefix: records} {
			require.ErrorIs(t, err, refusal)
			require.ErrorContains(t, err, filepath.Join(s.Dir(), path))
			require.ErrorContains(t, err, remedy)
			require.Equal(t, remedy != "", strings.Contains(err.Error(), "move it away"), err)
		}
	}
}
