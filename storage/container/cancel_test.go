package container

import (
	"context"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := hookedWriter{}
	e := newTestEncoder(t, Options{})
	_, err := e.Encode(ctx, &w, someHeader(), []Section{spanSection("a", []byte("1"))})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, w.writes)

	for _, raw := range [][]byte{nil, []byte("1"), make([]byte, 3*minChunkSize)} {
		r := openFile(t, encodeFile(t, Options{ChunkSize: minChunkSize}, spanSection("a", raw)))
		s := sectionOf(t, r, "a")
		require.ErrorIs(t, s.ReadSpans(ctx, [][]byte{raw}), context.Canceled)
		require.ErrorIs(t, r.Verify(ctx), context.Canceled)
		if len(raw) > 0 {
			_, err = io.ReadAll(s.NewReader(ctx))
			require.ErrorIs(t, err, context.Canceled)
		}
	}
}

// Encode, cancelled at each of its writes, ends with the context's error and
// leaves no goroutine and an encoder that can be used.
func TestCancelWhileEncoding(t *testing.T) {
	sections := pipelineSections(testseed.Rand(t))
	for _, workers := range []int{1, 4} {
		before := runtime.NumGoroutine()
		e := newTestEncoder(t, Options{ChunkSize: alignedChunk, Workers: workers})
		var good hookedWriter
		_, err := e.Encode(context.Background(), &good, someHeader(), sections)
		require.NoError(t, err)
		for at := range good.writes {
			ctx, cancel := context.WithCancel(context.Background())
			w := hookedWriter{before: func(write int, _ []byte) (int, error) {
				if write == at {
					cancel()
				}
				return -1, nil
			}}
			_, err := e.Encode(ctx, &w, someHeader(), sections)
			if err == nil { // everything had been handed over
				requireSame(t, good.Bytes(), w.Bytes(), "file")
				require.GreaterOrEqual(t, at, good.writes-3)
			} else {
				require.ErrorIs(t, err, context.Canceled)
				require.Less(t, w.writes, good.writes)
			}
			cancel()
		}
		requireSame(t, good.Bytes(), encodeWith(t, e, sections...), "after cancellations")
		requireSettled(t, before)
	}
}

// A Source learns of the end of the context, its own or the writer's.
func TestCancelInASource(t *testing.T) {
	for _, workers := range []int{1, 4} {
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(context.Background())
		stream := Section{Key: "a", Desc: Desc{Elem: Opaque}, Source: sourceFunc(func(w io.Writer) (int64, error) {
			for n := 0; ; n++ {
				if n == 100 {
					cancel()
				}
				if _, err := w.Write(make([]byte, 1000)); err != nil {
					return 0, err
				}
			}
		})}
		_, err := newTestEncoder(t, Options{ChunkSize: minChunkSize, Workers: workers}).Encode(ctx, io.Discard, someHeader(), []Section{stream})
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, errStopped)

		// The context ends in a Write, and the Source goes on.
		ctx, cancel = context.WithCancel(context.Background())
		var written int64
		ends := hookedWriter{before: func(int, []byte) (int, error) {
			cancel()
			return -1, nil
		}}
		_, err = newTestEncoder(t, Options{ChunkSize: alignedChunk, Workers: workers, Compression: Off}).Encode(ctx, &ends, someHeader(), []Section{
			{Key: "a", Desc: Desc{Elem: Opaque}, Source: sourceFunc(func(w io.Writer) (int64, error) {
				for {
					n, err := w.Write(make([]byte, alignedChunk))
					written += int64(n)
					if err != nil {
						return written, err
					}
				}
			})},
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, written, int64(64<<20), "the work ahead of the writer is bounded")
		requireSettled(t, before)
	}
}

// ReadSpans, Verify and a sequential read, cancelled at each read of the file.
func TestCancelWhileReading(t *testing.T) {
	data, want := faultFile(t)
	size := int64(len(data))
	before := runtime.NumGoroutine()
	for name, read := range map[string]func(ctx context.Context, r *Reader) error{
		"ReadSpans": func(ctx context.Context, r *Reader) error {
			for key, raw := range want {
				p := make([]byte, len(raw))
				if err := sectionOf(t, r, key).ReadSpans(ctx, rows(p, 1000)); err != nil {
					return err
				}
				requireSame(t, raw, p, key)
			}
			return nil
		},
		"NewReader": func(ctx context.Context, r *Reader) error {
			for key, raw := range want {
				p, err := io.ReadAll(sectionOf(t, r, key).NewReader(ctx))
				if err != nil {
					return err
				}
				requireSame(t, raw, p, key)
			}
			return nil
		},
		"Verify": func(ctx context.Context, r *Reader) error { return r.Verify(ctx) },
	} {
		f := &hookedFile{data: data}
		r, err := Open(f, size)
		require.NoError(t, err)
		f.reads.Store(0)
		require.NoError(t, read(context.Background(), r))
		total := f.reads.Load()
		cancelled := 0
		for at := range total {
			ctx, cancel := context.WithCancel(context.Background())
			f := &hookedFile{data: data}
			r, err := Open(f, size)
			require.NoError(t, err)
			f.reads.Store(0)
			f.before = func(n int64) error {
				if n == at {
					cancel()
				}
				return nil
			}
			if err := read(ctx, r); err != nil {
				require.ErrorIs(t, err, context.Canceled, "%s, read %d", name, at)
				cancelled++
			}
			cancel()
		}
		require.Greater(t, cancelled, int(total)/2, name)
	}
	requireSettled(t, before)
	require.True(t, scratchTokens.TryAcquire(scratchBudget), "all scratch memory was given back")
	scratchTokens.Release(scratchBudget)
}
