package checkpoint

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/async"
	"github.com/craft-go/craft/internal/vfs"
)

// A rank that leaves with an error of its own, and closes the checkpoint on its
// way out, does not wait for the others for long: they wait for it.
func TestLevelsCloseByOneRank(t *testing.T) {
	n := newTestNodes(t, 0, 1, 2, 3)
	own := errors.New("own error")
	var log syncBuffer
	debug := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := n.try(t, "partner", 3, func(ctx context.Context, g *grid) error {
			if g.c.Rank() == 1 {
				return own
			}
			return g.run(ctx, 6)
		}, WithLogger(debug))
		require.ErrorIs(t, err, own)
		require.Equal(t, idleTimeout, time.Since(began), "as long as for ranks that may want something, and not as for those that store")
	})
	require.Contains(t, log.String(), "the levels were closed before those of other ranks")
	n.lose(t, 2)
	require.Contains(t, n.job(t, "partner", 6, none), "iteration=2")
}

// A background write that hangs in the operating system still uses the levels when
// it wakes up after Close: they are closed, and it stores nothing anywhere.
func TestLevelsCloseWhileTheWriterHangs(t *testing.T) {
	n := newTestNodes(t, 0)
	synctest.Test(t, func(t *testing.T) {
		var armed atomic.Bool
		hold := make(chan struct{})
		hangs := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			if armed.Load() && op.Kind == vfs.OpRename {
				<-hold
			}
			return nil
		})
		p := newProgram(t, nil, true, n.options(0, "local", inMode("copy"), WithKeep(1), func(o *options) { o.nodeFS = hangs })...)
		require.NoError(t, p.run(t.Context(), 2, 1))
		require.NoError(t, p.advance(t.Context(), 1))
		levels, writing := p.cp.store.Driver, p.cp.line.flight.Load().ticket
		<-writing.Done()
		armed.Store(true)
		p.iter++
		require.NoError(t, p.advance(t.Context(), 1))
		writing = p.cp.line.flight.Load().ticket
		require.ErrorIs(t, p.cp.Close(), async.ErrHangs)
		close(hold)
		<-writing.Done()
		require.Error(t, writing.Err())
		require.Equal(t, levels, p.cp.store.Driver)
		require.NotNil(t, p.cp.placement)
	})
	require.Empty(t, glob(t, filepath.Join(n.dir, "pfs", "prog", "v-*")), "it has stored something at home")
}
