package stack

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// notes is a home whose notes are written by a function.
type notes struct {
	storage.Driver

	put func(data []byte) error
}

func (n *notes) Note(context.Context, string) ([]byte, error) { return nil, nil }

func (n *notes) PutNote(_ context.Context, _ string, data []byte) error { return n.put(data) }

// A note that could not be written does not count: the next version has to be
// noted still. Nobody waits for the parallel file system while it is written.
func TestNoteThatFails(t *testing.T) {
	home := &notes{}
	s := &Stack{Config: Config{Home: home, Name: "cp"}}
	h := container.Header{Version: 3, Size: 2}
	full := errors.New("no room")
	home.put = func([]byte) error {
		require.True(t, s.mu.TryLock(), "all that asks for anything waits for the parallel file system")
		s.mu.Unlock()
		return full
	}
	require.ErrorIs(t, s.AnnounceNodes(t.Context(), Announcement{Newest: &h, Levels: storage.LevelsOf(storage.Local)}), full)
	require.Nil(t, s.Newest())
	require.False(t, s.note.stored)

	home.put = func([]byte) error { return nil }
	require.NoError(t, s.AnnounceNodes(t.Context(), Announcement{Newest: &h, Levels: storage.LevelsOf(storage.Local)}))
	require.EqualValues(t, 3, s.Newest().ID.Version)
	require.True(t, s.note.stored)
}
