package remove

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// job stands for ranks and nodes: it remembers who was asked.
type job struct {
	mu      sync.Mutex
	called  []int // ranks
	dropped []int // nodes
	gone    bool
	flushes bool
	deaf    error // of rank 2
	stuck   error // of node 1
}

func (j *job) MayFlush(storage.ID) bool { return j.flushes }

func (j *job) Cancel(_ context.Context, rank int, _ storage.ID) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.called = append(j.called, rank)
	if rank == 2 {
		return j.deaf
	}
	return nil
}

func (j *job) Drop(_ context.Context, node int, _ storage.ID) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dropped = append(j.dropped, node)
	if node == 1 {
		return j.stuck
	}
	return nil
}

func (j *job) Dropped(storage.ID) { j.gone = true }

func remover(j *job) *Remover {
	return New(j, Options{Ranks: 4, Nodes: 2, Log: slog.New(slog.DiscardHandler)})
}

var id = storage.ID{Version: 1}

func TestDrop(t *testing.T) {
	j := &job{}
	r := remover(j)
	require.NoError(t, r.Drop(t.Context(), id))
	slices.Sort(j.dropped)
	require.Equal(t, []int{0, 1}, j.dropped)
	require.True(t, j.gone)

	bad := errors.New("bad")
	j = &job{stuck: bad}
	require.ErrorIs(t, remover(j).Drop(t.Context(), id), bad)
	require.Len(t, j.dropped, 2, "the other nodes delete it all the same")
	require.False(t, j.gone)
}

// Ranks are asked only if one of them may be at work, and until all of them have heard.
func TestCancel(t *testing.T) {
	j := &job{}
	r := remover(j)
	r.Cancel(t.Context(), id)
	require.Empty(t, j.called, "nobody works on it")
	require.False(t, r.Deleted(id))

	r.Healing(id)
	require.False(t, r.Deleted(id))
	j.deaf = errors.New("does not answer")
	r.Cancel(t.Context(), id)
	require.True(t, r.Deleted(id), "whether they have heard or not")
	require.Len(t, j.called, 4)
	j.deaf = nil
	r.Cancel(t.Context(), id)
	require.Len(t, j.called, 8, "not all had heard")
	r.Cancel(t.Context(), id)
	require.Len(t, j.called, 8, "all have")

	other := storage.ID{Version: 2}
	j.flushes = true
	r.Cancel(t.Context(), other)
	require.Len(t, j.called, 12)
	require.False(t, r.Deleted(other), "that is asked of what is healed")
}
