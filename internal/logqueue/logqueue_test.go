package logqueue

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// gate is output that nobody takes until it is opened.
type gate struct {
	open chan struct{}
	text strings.Builder
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.text.Write(p)
}

func newLogger(g *gate) Logger {
	return New(slog.New(slog.NewTextHandler(g, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
}

// TestNobodyWaits: neither those who log nor, for longer than they want, those who
// flush.
func TestNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		l := newLogger(g)
		l.Flush(0) // nothing waits
		l.With("rank", 3).WithGroup("at").Warn("first", "step", 7)
		l.Debug("not wanted")
		l.Error("second")
		began := time.Now()
		l.Flush(time.Second)
		require.Equal(t, time.Second, time.Since(began))
		close(g.open)
		l.Flush(0)
		require.Equal(t, "level=WARN msg=first rank=3 at.step=7\nlevel=ERROR msg=second\n", g.text.String())
		synctest.Wait() // no goroutine is left
	})
}

// TestDroppedMessagesAreCounted: the count stands where they are missing.
func TestDroppedMessagesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		l := newLogger(g)
		l.Info("taken")
		synctest.Wait() // it is being written
		for i := range most + 5 {
			l.Info(fmt.Sprint("number ", i))
		}
		close(g.open)
		l.Flush(0)
		l.Info("again")
		l.Flush(0)
		lines := strings.Split(strings.TrimSpace(g.text.String()), "\n")
		require.Len(t, lines, 1+most+2)
		require.Contains(t, lines[most], fmt.Sprintf(`"number %d"`, most-1))
		require.Contains(t, lines[most+1], "level=WARN")
		require.Contains(t, lines[most+1], "count=5")
		require.Contains(t, lines[most+2], "again")
	})
}
