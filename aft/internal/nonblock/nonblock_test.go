package nonblock_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/nonblock"
)

func pipe(t *testing.T) (from, to *os.File, r *nonblock.Reader, w *nonblock.Writer) {
	from, to, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = from.Close(), to.Close() })
	in, err := from.SyscallConn()
	require.NoError(t, err)
	out, err := to.SyscallConn()
	require.NoError(t, err)
	return from, to, nonblock.NewReader(in), nonblock.NewWriter(out)
}

// TestAllArrives: more than a pipe holds, in pieces of any size, and then the end.
func TestAllArrives(t *testing.T) {
	_, to, r, w := pipe(t)
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	written := make(chan error, 1)
	go func() {
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 1+rand.IntN(200<<10))
			if _, err := w.Write(rest[:n]); err != nil {
				written <- err
				return
			}
			rest = rest[n:]
		}
		written <- to.Close()
	}()
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, <-written)
	require.True(t, bytes.Equal(data, got))
}

// TestDeadlines are those of the files.
func TestDeadlines(t *testing.T) {
	from, to, r, w := pipe(t)
	require.NoError(t, from.SetReadDeadline(time.Now().Add(time.Millisecond)))
	_, err := r.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, to.SetWriteDeadline(time.Now().Add(time.Millisecond)))
	n, err := w.Write(make([]byte, 1<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Less(t, n, 1<<20)
}

// TestOtherEnd is gone.
func TestOtherEnd(t *testing.T) {
	from, _, _, w := pipe(t)
	require.NoError(t, from.Close())
	_, err := w.Write([]byte{1})
	require.ErrorIs(t, err, syscall.EPIPE)
}

// TestNothingIsAllocated for a message.
func TestNothingIsAllocated(t *testing.T) {
	_, _, r, w := pipe(t)
	data := make([]byte, 100)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = w.Write(data)
		_, _ = r.Read(data)
	}))
}
