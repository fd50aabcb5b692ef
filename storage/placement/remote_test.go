package placement

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

type countedStream struct {
	*bytes.Reader
	open *atomic.Int32
}

func (s *countedStream) Close() error {
	s.open.Add(-1)
	return nil
}

// However many parts are open and read from at once, there are never more streams
// than allowed, and nobody waits for ever.
func TestRemoteStreams(t *testing.T) {
	var open, most atomic.Int32
	l := newStreamPool()
	var parts []*remote
	for i := range 20 {
		r, err := openRemote(t.Context(), l, func() (storage.PartReader, error) {
			n := open.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			return &countedStream{bytes.NewReader(bytes.Repeat([]byte{byte(i)}, 100)), &open}, nil
		})
		require.NoError(t, err)
		require.EqualValues(t, 100, r.Size())
		parts = append(parts, r)
	}
	var readers sync.WaitGroup
	for i := range 60 {
		readers.Go(func() {
			for k := range 50 {
				which := (i*7 + k) % len(parts)
				var b [3]byte
				if _, err := parts[which].ReadAt(b[:], int64(k)); err != nil || b[2] != byte(which) {
					t.Errorf("part %d gives %v, %v", which, b, err)
				}
			}
		})
	}
	readers.Wait()
	require.EqualValues(t, readStreams, most.Load())
	for _, r := range parts {
		require.NoError(t, r.Close())
	}
	require.Zero(t, open.Load(), "streams are left open")
	require.Zero(t, l.open)
	_, err := parts[0].ReadAt(nil, 0)
	require.Error(t, err)
}

// A read that has to wait for a stream ends with its context; a stream that cannot
// be opened leaves its place to others.
func TestRemoteStreamsEnd(t *testing.T) {
	l := newStreamPool()
	stream := func() (storage.PartReader, error) {
		return &countedStream{bytes.NewReader([]byte("abc")), new(atomic.Int32)}, nil
	}
	for range readStreams {
		r, err := openRemote(t.Context(), l, stream)
		require.NoError(t, err)
		_, err = r.acquire() // and never gives it back
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() {
		_, err := openRemote(ctx, l, stream)
		done <- err
	}()
	why := errors.New("it is over")
	cancel(why)
	require.ErrorIs(t, <-done, why)

	l = newStreamPool()
	for range readStreams + 1 {
		_, err := openRemote(t.Context(), l, func() (storage.PartReader, error) { return nil, storage.ErrNotFound })
		require.ErrorIs(t, err, storage.ErrNotFound)
	}
	require.Zero(t, l.open)
}
