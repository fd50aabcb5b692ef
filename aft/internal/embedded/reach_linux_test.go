package embedded

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/control"
)

// noMoreFiles lets this process open no file until more is called.
func noMoreFiles(t *testing.T) (more func()) {
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	f, err := os.Open(os.DevNull)
	require.NoError(t, err)
	held := []*os.File{f}
	more = func() {
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before))
		for _, f := range held {
			_ = f.Close()
		}
	}
	limit := before
	limit.Cur = uint64(f.Fd())
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	t.Cleanup(more)
	for err == nil {
		if f, err = os.Open(os.DevNull); err == nil {
			held = append(held, f)
		}
	}
	return more
}

// TestNoFileForAConnection: who cannot open one more file has nobody killed. It tries
// again, and in the end it is its own error.
func TestNoFileForAConnection(t *testing.T) {
	for name, enough := range map[string]bool{"for a moment": true, "for good": false} {
		t.Run(name, func(t *testing.T) {
			a, _ := startNode(t, 1, t.Name(), func(c *wireConfig) {
				c.Patience = 50 * time.Millisecond
				if enough {
					c.Patience = wireDeadline
				}
			})
			b, peer := startNode(t, 2, t.Name(), nil)
			more := noMoreFiles(t)
			a.wire.addPeers([]control.Peer{peer})
			long := a.isend(2, 1, make([]byte, 100_000))
			if !enough {
				_, err := a.wait(long)
				require.ErrorIs(t, err, ErrUnreachable)
				require.ErrorIs(t, err, syscall.EMFILE)
			} else {
				require.Never(t, func() bool { return completedRequest(long) || a.wire.known(2).isOpen() }, 20*time.Millisecond, time.Millisecond)
				more()
				require.Eventually(t, func() bool { return a.wire.known(2).isOpen() }, wireDeadline, time.Millisecond)
			}
			require.Empty(t, a.suspects)
			require.Empty(t, b.suspects)
		})
	}
}
