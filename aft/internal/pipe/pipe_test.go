package pipe

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	mathrand "math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func timeout(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

func tryRead(size func() int) func(r *Reader) ([]byte, error) {
	return func(r *Reader) ([]byte, error) {
		p := make([]byte, size())
		n, err := r.TryRead(p)
		return p[:n], err
	}
}

// TestStream sends many times the ring's size in pieces of random lengths, and
// reads them in all ways.
func TestStream(t *testing.T) {
	random := testseed.Rand(t)
	readers := map[string]func(r *Reader) ([]byte, error){
		"short": tryRead(func() int { return 1 + random.IntN(300) }),
		"long":  tryRead(func() int { return 1 + random.IntN(200_000) }),
		"peek": func(r *Reader) ([]byte, error) {
			b, err := r.Peek(1 + random.IntN(peekSize-1))
			if err == io.EOF && len(b) > 0 {
				err = nil
			}
			if err == nil && len(b) == 0 {
				return nil, nil
			}
			b = bytes.Clone(b[:min(len(b), 1+random.IntN(peekSize))])
			r.Discard(len(b))
			return b, err
		},
	}
	for name, take := range readers {
		t.Run(name, func(t *testing.T) {
			total := 8 << 20
			if name == "short" {
				total = 1 << 20
			}
			want := make([]byte, total)
			_, _ = rand.Read(want)
			onBodies(t, func(t *testing.T, w *Writer, r *Reader) {
				out, in := feed(w), collect(r, take)
				cut := mathrand.New(mathrand.NewPCG(1, 2))
				for rest := want; len(rest) > 0; {
					n := min(len(rest), 1+cut.IntN(100_000)>>cut.IntN(17))
					parts := [][]byte{{}, {}}
					for left := rest[:n]; len(left) > 0; { // each in memory of its own
						k := cut.IntN(len(left)+1) >> cut.IntN(17)
						parts = append(parts, bytes.Clone(left[:k]))
						left = left[k:]
					}
					parts = parts[cut.IntN(2):]
					require.NoError(t, out.write(timeout(t), parts[0], parts[1], parts[2:]...))
					rest = rest[n:]
				}
				out.close()
				require.ErrorIs(t, <-out.done, ErrClosed)
				got, err := in.wait(t)
				require.NoError(t, err)
				require.True(t, bytes.Equal(want, got), "%d bytes sent, %d received", len(want), len(got))
			})
		})
	}
}

func TestPeekShowsWhatIsThere(t *testing.T) {
	onBodies(t, func(t *testing.T, w *Writer, r *Reader) {
		b, err := r.Peek(1)
		require.NoError(t, err)
		require.Empty(t, b)
		n, err := w.TryWrite([]byte("head"), []byte("body"))
		require.NoError(t, err)
		require.Equal(t, 8, n)
		require.Eventually(t, func() bool { b, err = r.Peek(8); return len(b) == 8 }, deadline, time.Millisecond)
		require.NoError(t, err)
		require.Equal(t, "headbody", string(b))
		r.Discard(4)
		b, err = r.Peek(100)
		require.NoError(t, err)
		require.Equal(t, "body", string(b))
	})
}

// TestBackPressure: who writes and is not read stops, and goes on when it is.
func TestBackPressure(t *testing.T) {
	onBodies(t, func(t *testing.T, w *Writer, r *Reader) {
		chunk := make([]byte, 64<<10)
		written := 0
		for {
			n, err := w.TryWrite(nil, chunk)
			require.NoError(t, err)
			written += n
			if n == 0 {
				break
			}
			require.Less(t, written, 64<<20, "no end")
		}
		if w.ring != nil {
			require.Equal(t, minRing, written)
		}
		out := feed(w)
		more := make(chan error, 1)
		go func() { more <- out.write(timeout(t), nil, chunk) }()
		in := collect(r, tryRead(func() int { return 1000 }))
		require.NoError(t, <-more)
		out.close()
		got, err := in.wait(t)
		require.NoError(t, err)
		require.Len(t, got, written+len(chunk))
	})
}

func TestReaderThatLeaves(t *testing.T) {
	onBodies(t, func(t *testing.T, w *Writer, r *Reader) {
		out := feed(w)
		r.Close()
		require.NoError(t, <-out.done)
	})
}

func TestReaderThatDies(t *testing.T) {
	onBodies(t, func(t *testing.T, w *Writer, r *Reader) {
		out := feed(w)
		r.Abort()
		require.ErrorIs(t, <-out.done, ErrBroken)
	})
}

func TestAfterClose(t *testing.T) {
	onBodies(t, func(t *testing.T, w *Writer, r *Reader) {
		w.Close()
		r.Close()
		_, err := w.TryWrite(nil, []byte("x"))
		require.ErrorIs(t, err, ErrClosed)
		_, err = r.Peek(1)
		require.ErrorIs(t, err, ErrClosed)
		_, err = r.TryRead(make([]byte, 1))
		require.ErrorIs(t, err, ErrClosed)
		require.True(t, r.Sleep())
		require.True(t, w.Sleep())
		w.Wake()
		r.Wake()
		require.ErrorIs(t, w.Run(func() {}), ErrClosed)
		require.ErrorIs(t, r.Run(func() {}), ErrClosed)
	})
}

// TestCloseWhileRunning closes a pipe from within the function given to Run, and
// from outside with the lock that this function wants.
func TestCloseWhileRunning(t *testing.T) {
	onBodies(t, func(t *testing.T, w *Writer, r *Reader) {
		err := r.Run(r.Abort)
		require.ErrorIs(t, err, ErrClosed)
	})
	onBodies(t, func(t *testing.T, w *Writer, r *Reader) {
		var mu sync.Mutex
		called := make(chan struct{}, 1000)
		done := make(chan error, 1)
		go func() {
			done <- r.Run(func() {
				called <- struct{}{}
				mu.Lock()
				defer mu.Unlock()
				_, _ = r.TryRead(make([]byte, 100))
				r.Sleep()
			})
		}()
		<-called
		mu.Lock()
		_, err := w.TryWrite(nil, []byte("x"))
		require.NoError(t, err)
		r.Abort()
		mu.Unlock()
		select {
		case err := <-done:
			require.ErrorIs(t, err, ErrClosed)
		case <-time.After(deadline):
			require.FailNow(t, "Run does not end")
		}
	})
}

// TestWhoLooksNeedsNoBell: no bell is rung for a reader that has not said that
// it sleeps, and one for a reader that has.
func TestWhoLooksNeedsNoBell(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no shared memory")
	}
	w, r := pair(t, config(t, 1), "unix")
	bells := func() int {
		n, err := r.sock.tryRead(make([]byte, 10))
		require.NoError(t, err)
		return n
	}
	send := func() {
		_, err := w.TryWrite(nil, []byte("abc"))
		require.NoError(t, err)
	}
	send()
	require.Zero(t, bells())
	require.False(t, r.Sleep(), "there is data that it has not seen")
	b, err := r.Peek(10)
	require.NoError(t, err)
	require.Len(t, b, 3)
	require.True(t, r.Sleep())
	send()
	send()
	require.Equal(t, 1, bells())
	_, _ = r.Peek(10)
	require.True(t, r.Sleep())
	r.Wake()
	send()
	require.Zero(t, bells())
}

// TestWriterLooksOnceMore: a writer that found no room does not go to sleep if
// half of the ring has become free meanwhile, and is rung for only then.
func TestWriterLooksOnceMore(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no shared memory")
	}
	cfg := config(t, 1)
	cfg.Ring = minRing
	w, r := pair(t, cfg, "unix")
	bells := func() int {
		n, err := w.sock.tryRead(make([]byte, 10))
		require.NoError(t, err)
		return n
	}
	n, err := w.TryWrite(nil, make([]byte, 2*minRing))
	require.NoError(t, err)
	require.Equal(t, minRing, n)
	_, err = r.Peek(1)
	require.NoError(t, err)
	r.Discard(minRing / 2)
	require.False(t, w.Sleep())
	_, err = w.TryWrite(nil, make([]byte, minRing))
	require.NoError(t, err)
	require.True(t, w.Sleep())
	r.Discard(minRing/2 - 1)
	require.Zero(t, bells())
	r.Discard(1)
	require.Equal(t, 1, bells())
}

func TestWrongIndexBreaksThePipe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no shared memory")
	}
	for _, wrong := range []uint64{1 << 40, minRing + 1, ^uint64(0), 2} {
		w, r := pair(t, Config{Job: randomName(), Secret: secret, Self: 1, Ring: minRing}, "unix")
		_, err := w.TryWrite(nil, []byte("abc"))
		require.NoError(t, err)
		_, err = r.Peek(3)
		require.NoError(t, err)
		r.ring.board.tail.Store(wrong)
		_, err = r.Peek(4)
		require.ErrorIs(t, err, ErrBroken, "tail %d", wrong)

		if wrong == 2 { // for the head: smaller than before
			r.Discard(3)
			_, _ = w.ring.room(minRing)
		}
		w.ring.board.head.Store(wrong)
		_, err = w.TryWrite(nil, make([]byte, 2*minRing))
		require.ErrorIs(t, err, ErrBroken, "head %d", wrong)
	}
}

func TestNoGoroutineStays(t *testing.T) {
	before := runtime.NumGoroutine()
	onBodies(t, func(t *testing.T, w *Writer, r *Reader) {
		out, in := feed(w), collect(r, tryRead(func() int { return 10 }))
		out.close()
		<-out.done
		_, err := in.wait(t)
		require.NoError(t, err)
	})
	for end := time.Now().Add(deadline); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end), "%d goroutines, %d before", runtime.NumGoroutine(), before)
	}
}
