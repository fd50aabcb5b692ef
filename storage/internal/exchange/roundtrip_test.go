package exchange

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
)

func sizes(block, window int) []int {
	return []int{0, 1, 100, block - 1, block, block + 1, 2 * block, window*block + 3, 3*window*block + block/2}
}

func TestRoundTrip(t *testing.T) {
	for name, opts := range map[string]Options{"small": small, "large": large} {
		t.Run(name, func(t *testing.T) {
			play(t, 2, opts, func(r *trial) {
				if r.c.Rank() == 1 {
					return
				}
				for to := range comm.Rank(2) { // to itself too
					for i, n := range sizes(opts.Block, opts.Window) {
						data := random(uint64(i), n)
						part := fmt.Sprint("part ", n)
						require.NoError(r.t, r.store(to, part, data, []int{1 << 20, 1000, opts.Block}[i%3]))
						got, ok := r.memories[to].get(part)
						require.True(r.t, ok, part)
						require.True(r.t, bytes.Equal(data, got), part)
						read, err := r.s.Open(r.ctx, to, part)
						require.NoError(r.t, err)
						checkReads(r.t, read, data, opts.Block)
						require.NoError(r.t, read.Close())
						if to == 1 {
							_, err = read.ReadAt(make([]byte, 1), 0)
							require.ErrorIs(r.t, err, fs.ErrClosed)
						}
					}
				}
			})
		})
	}
}

type reads interface {
	io.ReaderAt
	Size() int64
}

// checkReads compares a reader with one of memory: whole, in pieces that follow
// each other, anywhere, some goroutines at once.
func checkReads(t *testing.T, r reads, data []byte, block int) {
	require.EqualValues(t, len(data), r.Size())
	whole := make([]byte, len(data)+1)
	n, err := r.ReadAt(whole, 0)
	require.Equal(t, len(data), n)
	require.ErrorIs(t, err, io.EOF)
	require.True(t, bytes.Equal(data, whole[:n]))
	for _, piece := range []int{block / 2, block / 3, 3*block + 1} {
		got, err := io.ReadAll(onlyReader{io.NewSectionReader(r, 0, r.Size())}.in(piece))
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got), "in pieces of %d", piece)
	}
	_, err = r.ReadAt(make([]byte, 1), -1)
	require.Error(t, err)
	seed := testseed.Seed(t)
	var readers sync.WaitGroup
	for g := range 4 {
		readers.Go(func() {
			dice := rand.New(rand.NewPCG(seed, uint64(g)))
			want := bytes.NewReader(data)
			for range 20 {
				p, q := make([]byte, dice.IntN(2*block)), []byte(nil)
				q = append(q, p...)
				off := dice.Int64N(r.Size() + 2)
				n, err := r.ReadAt(p, off)
				m, wantErr := want.ReadAt(q, off)
				if len(p) == 0 {
					continue
				}
				if n != m || err != wantErr || !bytes.Equal(p, q) {
					t.Errorf("%d bytes at %d of %d: %d, %v; expected %d, %v", len(p), off, len(data), n, err, m, wantErr)
					return
				}
			}
		})
	}
	readers.Wait()
}

// onlyReader hides what io.ReadAll would rather use.
type onlyReader struct{ io.Reader }

func (o onlyReader) in(piece int) io.Reader { return pieces{o.Reader, piece} }

type pieces struct {
	r io.Reader
	n int
}

func (p pieces) Read(b []byte) (int, error) {
	buf := make([]byte, p.n)
	n, err := p.r.Read(buf[:min(p.n, len(b))])
	copy(b, buf[:n])
	return n, err
}

// TestReadAheadFetchesOnce: what is read in order is asked for once, and before
// it is needed.
func TestReadAheadFetchesOnce(t *testing.T) {
	opts := small
	data := random(1, 20*opts.Block)
	there := &memory{}
	there.put("part", data)
	asked := make(map[int64]int)
	there.read = func(_ string, off int64) error {
		there.mu.Lock()
		defer there.mu.Unlock()
		asked[off]++
		return nil
	}
	playOn(t, 2, opts, []*memory{nil, there}, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		read, err := r.s.Open(r.ctx, 1, "part")
		require.NoError(r.t, err)
		defer read.Close()
		half := make([]byte, opts.Block/2)
		for off := int64(0); off < read.Size(); off += int64(len(half)) {
			_, err := read.ReadAt(half, off)
			require.NoError(r.t, err)
			require.True(r.t, bytes.Equal(half, data[off:][:len(half)]))
			if off > 0 { // each read follows the one before
				r.awaitAsked(asked, min(20, int(off)/opts.Block+1+opts.Window))
			}
		}
	})
	require.Len(t, asked, 20)
	for off, times := range asked {
		require.Equal(t, 1, times, "block at %d", off)
	}
}

func (r *trial) awaitAsked(asked map[int64]int, want int) {
	require.Eventually(r.t, func() bool {
		r.memories[1].mu.Lock()
		defer r.memories[1].mu.Unlock()
		return len(asked) >= want
	}, patience, 1e6)
}

// TestKeptBlocksAreBounded: blocks of which only a part is ever read.
func TestKeptBlocksAreBounded(t *testing.T) {
	there := &memory{}
	data := random(1, 100*small.Block)
	there.put("part", data)
	playOn(t, 2, small, []*memory{nil, there}, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		read, err := r.s.Open(r.ctx, 1, "part")
		require.NoError(r.t, err)
		defer read.Close()
		most := small.Block/2 + 1
		for off := 0; off < len(data); off += small.Block {
			p := make([]byte, most)
			_, err := read.ReadAt(p, int64(off))
			require.NoError(r.t, err)
			require.True(r.t, bytes.Equal(p, data[off:][:most]))
			r.s.buffers.mu.Lock()
			held := r.s.buffers.out
			r.s.buffers.mu.Unlock()
			require.LessOrEqual(r.t, held, 3*small.Window+1)
		}
	})
}

// TestAllPairs: every rank writes to and reads from every other one, several
// parts at a time, more than have a place at once.
func TestAllPairs(t *testing.T) {
	const n, parts = 4, 6
	opts := Options{Block: 128 << 10, Window: 2, Streams: 2}
	play(t, n, opts, func(r *trial) {
		me := r.c.Rank()
		var all sync.WaitGroup
		for to := range comm.Rank(n) {
			for k := range parts {
				all.Go(func() {
					data := random(uint64(me)*100+uint64(k), k*100_000)
					name := fmt.Sprintf("%d of %d", k, me)
					if err := r.store(to, name, data, 70_000); err != nil {
						r.t.Errorf("rank %d: %v", me, err)
						return
					}
					read, err := r.s.Open(r.ctx, to, name)
					if err != nil {
						r.t.Errorf("rank %d: %v", me, err)
						return
					}
					got := make([]byte, len(data))
					if m, err := read.ReadAt(got, 0); m < len(data) || !bytes.Equal(got, data) {
						r.t.Errorf("rank %d: %q differs, error %v", me, name, err)
					}
					if err := read.Close(); err != nil {
						r.t.Error(err)
					}
				})
			}
		}
		all.Wait()
	})
}

func TestAlone(t *testing.T) {
	own := &memory{}
	s := New(t.Context(), comm.Self(), own, Options{})
	w, err := s.Create(t.Context(), 0, "part")
	require.NoError(t, err)
	_, err = w.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	r, err := s.Open(t.Context(), 0, "part")
	require.NoError(t, err)
	require.EqualValues(t, 5, r.Size())
	require.NoError(t, r.Close())
	require.NoError(t, s.Close(context.Background()))
	_, err = s.Open(t.Context(), 0, "part")
	require.ErrorIs(t, err, ErrClosed)
}
