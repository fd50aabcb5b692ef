package exchange

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// TestInterleavedReaders: parts of one rank that are read by turns do not take from each other
// what they have read ahead, whatever few bytes are read at a time.
func TestInterleavedReaders(t *testing.T) {
	const blocks = 32
	opts := Options{Block: minBlock, Window: 8, Streams: 8}
	for _, n := range []int{3, 4, 8, 16} {
		for _, piece := range []int{opts.Block, opts.Block / 16} {
			var asked atomic.Int64
			there := &memory{read: func(string, int64) error { asked.Add(1); return nil }}
			for i := range n {
				there.put(fmt.Sprint(i), random(uint64(i), blocks*opts.Block))
			}
			playOn(t, 2, opts, []*memory{nil, there}, func(r *trial) {
				if r.c.Rank() == 1 {
					return
				}
				parts := make([]storage.PartReader, n)
				for i := range parts {
					var err error
					parts[i], err = r.s.Open(r.ctx, 1, fmt.Sprint(i))
					require.NoError(r.t, err)
					defer parts[i].Close()
				}
				got := make([]byte, piece)
				for off := 0; off < blocks*opts.Block; off += piece {
					for i, part := range parts {
						_, err := part.ReadAt(got, int64(off))
						require.NoError(r.t, err)
						want, _ := there.get(fmt.Sprint(i))
						require.True(r.t, bytes.Equal(want[off:off+piece], got))
					}
					require.LessOrEqual(r.t, r.kept(""), 3*opts.Window)
				}
			})
			require.Less(t, asked.Load(), int64(n*blocks*3/2), "%d parts, %d bytes at a time", n, piece)
		}
	}
}

// kept is how many blocks of a part are kept here, or of all.
func (r *trial) kept(name string) (n int) {
	c := &r.s.peers[1].cache
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.kept {
		if name == "" || f.r.name == name {
			n++
		}
	}
	return n
}

// TestLeftReadersMakeRoom: parts that were begun and left take no room for ever from one that
// is read on.
func TestLeftReadersMakeRoom(t *testing.T) {
	there := &memory{}
	there.put("on", random(1, 100*small.Block))
	playOn(t, 2, small, []*memory{nil, there}, func(r *trial) {
		if r.c.Rank() == 1 {
			return
		}
		got := make([]byte, small.Block)
		for i := range 30 {
			there.put(fmt.Sprint(i), random(uint64(i), 10*small.Block))
			left, err := r.s.Open(r.ctx, 1, fmt.Sprint(i))
			require.NoError(r.t, err)
			defer left.Close()
			_, err = left.ReadAt(got[1:], 0)
			require.NoError(r.t, err)
		}
		on, err := r.s.Open(r.ctx, 1, "on")
		require.NoError(r.t, err)
		defer on.Close()
		for off := int64(0); off < on.Size()/2; off += int64(len(got)) {
			_, err := on.ReadAt(got, off)
			require.NoError(r.t, err)
		}
		require.Equal(r.t, small.Window, r.kept("on"), "blocks that are read ahead")
	})
}
