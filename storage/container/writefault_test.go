package container

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// hookedWriter keeps what is written and can fail.
type hookedWriter struct {
	bytes.Buffer
	writes int
	// before is called with the number of the write, from 0, and says how many
	// of the bytes are taken; a negative number is all of them.
	before func(write int, p []byte) (int, error)
}

func (w *hookedWriter) Write(p []byte) (int, error) {
	w.writes++
	if w.before != nil {
		if n, err := w.before(w.writes-1, p); err != nil || n >= 0 {
			return max(0, n), err
		}
	}
	return w.Buffer.Write(p)
}

// pipelineSections take all ways through an Encoder with chunks of 64 KiB.
func pipelineSections(rng *rand.Rand) []Section {
	large, tiny, stream := noise.bytes(rng, 10*alignedChunk), noise.bytes(rng, 5*alignedChunk), patches.bytes(rng, 6*alignedChunk+9)
	return []Section{
		spanSection("scalar", noise.bytes(rng, 8)),
		spanSection("large", large),
		spanSection("tiny spans", rows(tiny, 24)...),
		{Key: "source", Desc: Desc{Elem: Opaque}, Source: pieceSource{stream, rng.Uint64()}},
		spanSection("scalar 2", noise.bytes(rng, 8)),
		spanSection("large 2", large),
	}
}

// requireSettled waits for goroutines that are about to end.
func requireSettled(t *testing.T, before int) {
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 10*time.Second, time.Millisecond,
		"goroutines are left") // one more is that of Eventually itself
}

func TestWriteErrors(t *testing.T) {
	rng := testseed.Rand(t)
	sections := pipelineSections(rng)
	full := errors.New("disk full")
	for _, workers := range []int{1, 4} {
		before := runtime.NumGoroutine()
		e := newTestEncoder(t, Options{ChunkSize: alignedChunk, Workers: workers})
		var good hookedWriter
		_, err := e.Encode(context.Background(), &good, someHeader(), sections)
		require.NoError(t, err)
		require.Greater(t, good.writes, 20)
		for failing := range good.writes {
			for i, c := range []struct {
				take int
				err  error
				want error
			}{{0, full, full}, {10, full, full}, {10, nil, io.ErrShortWrite}, {0, nil, io.ErrShortWrite}} {
				if failing > 2 && failing < good.writes-2 && failing%4 != i {
					continue
				}
				w := hookedWriter{before: func(write int, p []byte) (int, error) {
					if write < failing {
						return -1, nil
					}
					if write > failing {
						t.Error("a write after one that failed")
					}
					return c.take, c.err
				}}
				stats, err := e.Encode(context.Background(), &w, someHeader(), sections)
				require.ErrorIs(t, err, c.want, "write %d", failing)
				require.Zero(t, stats)
				require.Empty(t, e.AppendDigests(nil))
				if failing > 0 && failing < good.writes-1 {
					require.ErrorContains(t, err, "section")
				}
			}
		}
		requireSame(t, good.Bytes(), encodeWith(t, e, sections...), "after errors")
		requireSettled(t, before)
	}
}

// Raw chunks are written from where they are; many small values in one call.
func TestWritesAreLarge(t *testing.T) {
	rng := testseed.Rand(t)
	raw := noise.bytes(rng, 3*defaultChunkSize)
	start, end := uintptr(unsafe.Pointer(&raw[0])), uintptr(unsafe.Pointer(&raw[len(raw)-1]))
	direct := 0
	w := hookedWriter{before: func(_ int, p []byte) (int, error) {
		if at := uintptr(unsafe.Pointer(&p[0])); at >= start && at <= end {
			direct += len(p)
		}
		return -1, nil
	}}
	e := newTestEncoder(t, Options{})
	_, err := e.Encode(context.Background(), &w, someHeader(), []Section{spanSection("a", raw[:100], raw[100:])})
	require.NoError(t, err)
	require.GreaterOrEqual(t, direct, len(raw)-100)
	require.LessOrEqual(t, w.writes, 7)

	var scalars []Section
	for i := range 1000 {
		scalars = append(scalars, spanSection("scalar "+strings.Repeat("x", i), raw[8*i:8*i+8]))
	}
	w = hookedWriter{}
	_, err = e.Encode(context.Background(), &w, someHeader(), scalars)
	require.NoError(t, err)
	require.Equal(t, 1, w.writes)

	w = hookedWriter{}
	_, err = e.Encode(context.Background(), &w, someHeader(), []Section{spanSection("tiny", rows(raw[:2_400_000], 24)...)})
	require.NoError(t, err)
	require.LessOrEqual(t, w.writes, 4)
}

// zeroSource writes n bytes.
type zeroSource int64

func (n zeroSource) WriteTo(w io.Writer) (int64, error) {
	return io.CopyBuffer(w, io.LimitReader(zeroReader{}, int64(n)), make([]byte, 1<<20))
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Buffers are bounded, and made once.
func TestEncodeMemoryIsBounded(t *testing.T) {
	raw := make([]byte, 24<<20)
	sections := []Section{
		{Key: "source", Desc: Desc{Elem: Opaque}, Source: zeroSource(len(raw))},
		spanSection("rows", rows(raw, 24)...),
		spanSection("plain", raw),
	}
	for _, mode := range []Compression{Off, Always} {
		e := newTestEncoder(t, Options{Workers: 8, Compression: mode})
		encode := func() {
			_, err := e.Encode(context.Background(), io.Discard, someHeader(), sections)
			require.NoError(t, err)
		}
		require.Less(t, allocated(encode), int64(44<<20), mode)
		require.Less(t, allocated(encode), int64(3<<20), "%s, again", mode)
	}
}

// allocated is how many bytes are allocated while f runs.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

type sourceFunc func(w io.Writer) (int64, error)

func (f sourceFunc) WriteTo(w io.Writer) (int64, error) { return f(w) }

func TestSourceFaults(t *testing.T) {
	rng := testseed.Rand(t)
	large := pipelineSections(rng)
	mine := errors.New("device lost")
	raw := noise.bytes(rng, 3*alignedChunk)
	for _, workers := range []int{1, 4} {
		before := runtime.NumGoroutine()
		e := newTestEncoder(t, Options{ChunkSize: alignedChunk, Workers: workers})
		with := func(f sourceFunc) []Section {
			return append(large[:len(large):len(large)], Section{Key: "mine", Desc: Desc{Elem: Opaque}, Source: f})
		}
		for _, n := range []int{0, 10, alignedChunk, len(raw)} {
			_, err := e.Encode(context.Background(), io.Discard, someHeader(), with(failingSource{raw[:n], mine}.WriteTo))
			require.ErrorIs(t, err, mine)
			require.ErrorContains(t, err, `"mine"`)

			var late io.Writer
			keep := with(func(w io.Writer) (int64, error) { late = w; w.Write(raw[:n]); return 0, nil })
			_, err = e.Encode(context.Background(), io.Discard, someHeader(), keep)
			require.NoError(t, err)
			_, err = late.Write(raw)
			require.Error(t, err, "write to a section that is closed")

			require.PanicsWithValue(t, "mine", func() {
				_, _ = e.Encode(context.Background(), io.Discard, someHeader(),
					with(func(w io.Writer) (int64, error) { late = w; w.Write(raw[:n]); panic("mine") }))
			})
			// Nobody reads the values any more: the race detector would see it.
			clear(large[1].Spans[0][:10])
			_, err = late.Write(raw)
			require.Error(t, err, "write to a section that is closed")
			require.Empty(t, e.AppendDigests(nil))
		}
		// A Source that does not look at the errors of its writes.
		full := errors.New("disk full")
		w := hookedWriter{before: func(int, []byte) (int, error) { return 0, full }}
		_, err := e.Encode(context.Background(), &w, someHeader(), with(func(w io.Writer) (int64, error) {
			for range 1000 {
				w.Write(raw)
			}
			return 0, nil
		}))
		require.ErrorIs(t, err, full)
		readBackAll(t, encodeWith(t, e, large...), large)
		requireSettled(t, before)
	}
}

// readBackAll compares the sections of a file that were made from spans.
func readBackAll(t *testing.T, data []byte, sections []Section) {
	r := openFile(t, data)
	require.NoError(t, r.Verify(context.Background()))
	for _, s := range sections {
		got, err := readAll(sectionOf(t, r, s.Key))
		require.NoError(t, err)
		if s.Source == nil {
			requireSame(t, bytes.Join(s.Spans, nil), got, s.Key)
		}
	}
}

// A second Encode at the same time is refused and does not disturb the first.
func TestEncodeAtTheSameTime(t *testing.T) {
	e := newTestEncoder(t, Options{})
	var second error
	s := Section{Key: "a", Desc: Desc{Elem: Opaque}, Source: sourceFunc(func(w io.Writer) (int64, error) {
		_, second = e.Encode(context.Background(), io.Discard, someHeader(), nil)
		n, err := w.Write([]byte("first"))
		return int64(n), err
	})}
	data := encodeWith(t, e, s)
	require.ErrorIs(t, second, ErrInvalid)
	require.Len(t, e.AppendDigests(nil), 1)
	got, err := readAll(sectionOf(t, openFile(t, data), "a"))
	require.NoError(t, err)
	require.Equal(t, "first", string(got))
}
