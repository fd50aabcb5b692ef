package checkpoint

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/async"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// stuckStore is a store whose parts, once it is stuck, take bytes only when the
// context of the write has ended.
type stuckStore struct {
	storage.Driver

	stuck atomic.Bool
}

func (s *stuckStore) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	w, err := s.Driver.Create(ctx, id, part)
	if err != nil || !s.stuck.Load() {
		return w, err
	}
	return stuckWriter{w, ctx}, nil
}

type stuckWriter struct {
	storage.PartWriter

	ctx context.Context
}

func (w stuckWriter) Write(p []byte) (int, error) {
	select {
	case <-w.ctx.Done():
	case <-time.After(time.Minute):
		return 0, errors.New("nobody has cancelled the write")
	}
	return w.PartWriter.Write(p)
}

// A write that takes longer than Close may wait is cancelled, and nothing of it
// is left, in both modes.
func TestDrainTimeout(t *testing.T) {
	for _, mode := range modes[1:] {
		mem := vfs.NewMem()
		v := make([]float64, 1_000_000)
		cp := open(t, "/cp", map[string]any{"v": &v}, withFS(mem), inMode(mode), WithCompression(CompressOff), WithDrainTimeout(20*time.Millisecond))
		require.NoError(t, cp.UpdateAndWrite(t.Context(), 0, 1))
		require.NoError(t, cp.Wait(t.Context()))
		disk := &stuckStore{Driver: cp.store.Driver}
		cp.store.Driver = disk
		disk.stuck.Store(true)
		require.NoError(t, cp.UpdateAndWrite(t.Context(), 1, 1))
		require.ErrorIs(t, cp.Close(), async.ErrDrain)
		entries, err := mem.ReadDir("/cp/test/")
		require.NoError(t, err)
		versions := 0
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "v-") {
				versions++
			}
		}
		require.Equal(t, 1, versions)
		iter := 0
		again := open(t, "/cp", map[string]any{"v": &v}, withFS(mem))
		require.NoError(t, again.RestartIfNeeded(t.Context(), &iter))
		require.Equal(t, 1, iter)
		require.NoError(t, again.Close())
	}
}

// endsWithTheWrite is a context that ends when a background write does.
type endsWithTheWrite struct {
	context.Context

	cp *Checkpoint
}

func (c endsWithTheWrite) Done() <-chan struct{} {
	if f := c.cp.line.flight.Load(); f != nil {
		<-f.ticket.Done()
	}
	ended := make(chan struct{})
	close(ended)
	return ended
}

func (endsWithTheWrite) Err() error    { return context.Canceled }
func (endsWithTheWrite) Value(any) any { return nil }

// A context that ends at the same moment as the write does not make it a failed
// one, which would be deleted.
func TestContextEndsWithTheWrite(t *testing.T) {
	for range 50 {
		mem := vfs.NewMem()
		p := newProgram(t, nil, true, WithPath("/cp"), withFS(mem), WithAsync(AsyncCopy))
		require.NoError(t, p.cp.RestartIfNeeded(t.Context(), nil))
		require.NoError(t, p.cp.UpdateAndWrite(t.Context(), 0, 1))
		require.NoError(t, p.cp.Wait(endsWithTheWrite{t.Context(), p.cp}))
		require.NoError(t, p.cp.Close())
		require.Equal(t, 1, p.cp.Stats().VersionsWritten)
	}
}
