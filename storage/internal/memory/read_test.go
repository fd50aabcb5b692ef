package memory

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/offheap"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/internal/exchange"
)

// pair is a rank and one that holds a copy of its part, with the stream between them.
type pair struct {
	t           *testing.T
	here, there *Store
	sent        int // bytes that came as messages
	apart       int // how often it was noted that memory is not read
}

func newPair(t *testing.T) *pair {
	p := &pair{t: t, here: New(0), there: New(0)}
	t.Cleanup(func() {
		require.NoError(t, p.here.Close())
		require.NoError(t, p.there.Close())
	})
	return p
}

// stream is one to the other rank.
type stream struct {
	passed

	p *pair
}

func (s stream) Borrow(b []byte) error {
	s.p.sent += len(b)
	return s.passed.Borrow(b)
}

func (p *pair) open(version uint64) (storage.PartWriter, error) {
	w, err := p.there.Of("a").CreateObject(p.t.Context(), keyOf(version, storage.KindCopy), storage.ID{})
	return stream{passed{w}, p}, err
}

func (p *pair) create(version uint64) *sharing {
	own, err := p.here.Of("a").create(p.t.Context(), keyOf(version, storage.KindPart))
	require.NoError(p.t, err)
	to := &sender{open: func() (storage.PartWriter, error) { return p.open(version) }, apart: func() { p.apart++ }, reads: true}
	to.to, err = to.open()
	require.NoError(p.t, err)
	return &sharing{own: own, others: []*sender{to}}
}

// write writes data in pieces of many sizes.
func (p *pair) write(version uint64, data []byte) *sharing {
	rng := testseed.Rand(p.t)
	w := p.create(version)
	for at := 0; at < len(data); {
		n := min(len(data)-at, 1+rng.IntN(1<<(3+rng.IntN(20))))
		_, err := w.Write(data[at : at+n])
		require.NoError(p.t, err)
		at += n
	}
	return w
}

func (p *pair) requireBoth(version uint64, data []byte) {
	require.True(p.t, bytes.Equal(data, content(p.t, p.here.Of("a"), keyOf(version, storage.KindPart))))
	require.True(p.t, bytes.Equal(data, content(p.t, p.there.Of("a"), keyOf(version, storage.KindCopy))))
}

// needSegments skips where no memory is read by others.
func needSegments(t *testing.T) {
	if offheap.Vicinity() == 0 {
		t.Skip("processes cannot read each other's memory here")
	}
}

// TestRead: a copy is read in the memory of the part, and no byte of it is sent.
func TestRead(t *testing.T) {
	needSegments(t)
	p := newPair(t)
	rng := testseed.Rand(t)
	for v := uint64(1); v < 8; v++ {
		data := random(rng, 1+rng.IntN(12<<20))
		require.NoError(t, p.write(v, data).Commit())
		p.requireBoth(v, data)
		for _, s := range []*Store{p.here, p.there} {
			s.Of("a").Forget(storage.ID{Version: v - 1})
		}
	}
	require.Zero(t, p.sent)
	require.Zero(t, p.apart)
}

// TestReadOfMemoryThatIsUsedAgain: who comes late, because its process had stopped, finds that these
// are not the bytes that it was to have.
func TestReadOfMemoryThatIsUsedAgain(t *testing.T) {
	needSegments(t)
	for name, change := range map[string]func(*pair, *sharing){
		"another version": func(p *pair, w *sharing) {
			require.NoError(t, w.own.Abort())
			put(t, p.here.Of("a"), keyOf(2, storage.KindPart), make([]byte, 3<<20))
		},
		"a store that is closed": func(p *pair, w *sharing) {
			require.NoError(t, w.own.Abort())
			require.NoError(t, p.here.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			w := p.create(1)
			data := random(testseed.Rand(t), 3<<20)
			_, err := w.Write(data[:1<<20]) // the window is open
			require.NoError(t, err)
			late := p.there.Of("a")
			late.Before(func(operation string, key storage.ObjectKey) error {
				if operation == "write" && key.Kind == storage.KindCopy {
					late.Before(nil)
					change(p, w)
				}
				return nil
			})
			records, err := w.others[0].records([]room{w.own.made.pieces[0].room()})
			require.NoError(t, err)
			err = send(w.others[0].to, records)
			require.ErrorIs(t, err, exchange.ErrTransfer)
			require.NoError(t, w.others[0].abort())
			require.Empty(t, late.Inventory())
			require.Zero(t, late.Usage().Used)
		})
	}
}

// TestReadIntoSeveralRooms: what is in one piece here may be in several there.
func TestReadIntoSeveralRooms(t *testing.T) {
	needSegments(t)
	p := newPair(t)
	theirs := p.there.Of("a")
	for v := uint64(10); v < 18; v++ { // a slab, every other extent of which is in use
		put(t, theirs, keyOf(v, storage.KindPart), make([]byte, extentSize))
		if v%2 == 1 {
			theirs.Forget(storage.ID{Version: v - 1})
		}
	}
	data := random(testseed.Rand(t), 3*pieceSize+5)
	require.NoError(t, p.write(1, data).Commit())
	p.requireBoth(1, data)
	require.Zero(t, p.sent)
}

// TestReadIsNotPossible: what cannot be read is sent, from the beginning or in the middle.
func TestReadIsNotPossible(t *testing.T) {
	data := random(testseed.Rand(t), 9<<20)
	was, wasSegment := openMemory, newSegment
	t.Cleanup(func() { openMemory, newSegment = was, wasSegment })
	for name, possible := range map[string]int{"never": 0, "the second memory": 1, "the third": 2} {
		t.Run(name, func(t *testing.T) {
			openMemory = func(a offheap.Address) (*offheap.Window, error) {
				if possible--; possible < 0 {
					return nil, offheap.ErrNotThere
				}
				return was(a)
			}
			p := newPair(t)
			require.NoError(t, p.write(1, data).Commit())
			p.requireBoth(1, data)
			require.Equal(t, len(data), p.sent)
			require.Equal(t, 1, p.apart)
		})
	}
	t.Run("no descriptor is left", func(t *testing.T) {
		openMemory, newSegment = was, func(int) (*offheap.Segment, error) { return nil, errors.ErrUnsupported }
		p := newPair(t)
		require.NoError(t, p.write(1, data).Commit())
		p.requireBoth(1, data)
		require.Equal(t, len(data), p.sent)
	})
}

// TestRecords: what no rank sends is refused.
func TestRecords(t *testing.T) {
	for _, wrong := range []record{
		{}, {5}, {-1}, {recordRun, -2, 1}, {recordRun, 1, -1}, {recordRead, -1, 5}, {recordRead, 5, 0}, {recordRead, 5, pieceSize + 1}, {recordRead, largestSlab + 1, 5},
	} {
		b, err := binary.Append(nil, binary.LittleEndian, wrong)
		require.NoError(t, err)
		_, err = parseRecord(b)
		require.Error(t, err, wrong)
	}
	p := newPair(t)
	w, err := p.open(1)
	require.NoError(t, err)
	require.ErrorIs(t, send(w, []record{{recordRead, 0, 10}}), exchange.ErrTransfer, "of no memory")
	require.NoError(t, w.Abort())
	w, err = p.open(2)
	require.NoError(t, err)
	_, err = w.Write([]byte{1, 2})
	require.NoError(t, err)
	require.ErrorIs(t, w.Commit(), exchange.ErrTransfer, "half a record")
	require.Zero(t, p.there.Usage().Used)
}
