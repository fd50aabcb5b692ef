package memory

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

func keyOf(version uint64, kind storage.Kind) storage.ObjectKey {
	return storage.ObjectKey{ID: storage.ID{Version: version}, Kind: kind, Part: storage.Part{Rank: 1, Size: 4}}
}

func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, rng.Uint64())
	}
	return b[:n]
}

func put(t *testing.T, o *Objects, key storage.ObjectKey, data []byte) {
	w, err := o.create(t.Context(), key)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Commit())
}

func content(t *testing.T, o *Objects, key storage.ObjectKey) []byte {
	r, err := o.OpenObject(t.Context(), key)
	require.NoError(t, err)
	defer r.Close()
	b := make([]byte, r.Size())
	_, err = io.ReadFull(io.NewSectionReader(r, 0, r.Size()), b)
	require.NoError(t, err)
	return b
}

// What is written in any pieces is read in any ranges.
func TestObjects(t *testing.T) {
	rng := testseed.Rand(t)
	s := New(0)
	o := s.Of("a")
	for round := range 30 {
		key := keyOf(uint64(round+1), storage.KindPart)
		data := random(rng, 1+rng.IntN(2<<20))
		w, err := o.create(t.Context(), key)
		require.NoError(t, err)
		for at := 0; at < len(data); {
			n := min(len(data)-at, 1+rng.IntN(1<<(5+rng.IntN(15))))
			_, err := w.Write(data[at : at+n])
			require.NoError(t, err)
			at += n
		}
		_, err = o.OpenObject(t.Context(), key)
		require.ErrorIs(t, err, storage.ErrNotFound, "it is not committed")
		require.NoError(t, w.Commit())
		require.True(t, bytes.Equal(data, content(t, o, key)))
		r, err := o.OpenObject(t.Context(), key)
		require.NoError(t, err)
		for range 20 {
			off, n := rng.IntN(len(data)), rng.IntN(len(data))
			p := make([]byte, n)
			k, err := r.ReadAt(p, int64(off))
			require.Equal(t, min(n, len(data)-off), k)
			require.Equal(t, k < n, errors.Is(err, io.EOF))
			require.True(t, bytes.Equal(data[off:off+k], p[:k]))
		}
		require.NoError(t, r.Close())
		if round%3 == 2 {
			o.Forget(storage.ID{Version: uint64(round)})
		}
	}
	require.Len(t, o.IDs(), 20)
	require.Empty(t, s.Of("b").Inventory())
	require.NoError(t, s.Close())
	require.Zero(t, s.Usage().Used)
}

// Memory is used again when nobody reads it any more, and not before.
func TestMemoryIsUsedAgain(t *testing.T) {
	rng := testseed.Rand(t)
	s := New(0)
	o := s.Of("a")
	data := random(rng, 1<<20)
	put(t, o, keyOf(1, storage.KindPart), data)
	r, err := o.OpenObject(t.Context(), keyOf(1, storage.KindPart))
	require.NoError(t, err)
	o.Forget(storage.ID{Version: 1})
	put(t, o, keyOf(2, storage.KindPart), random(rng, 1<<20))
	got := make([]byte, len(data))
	_, err = r.ReadAt(got, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	for v := uint64(3); v < 20; v++ {
		put(t, o, keyOf(v, storage.KindPart), data)
		o.Forget(storage.ID{Version: v - 1})
	}
	require.Equal(t, Usage{Used: 1 << 20, Most: 2 << 20}, s.Usage())
}

func TestForgottenIsRefused(t *testing.T) {
	o := New(0).Of("a")
	w, err := o.create(t.Context(), keyOf(1, storage.KindPart))
	require.NoError(t, err)
	o.Forget(storage.ID{Version: 1})
	require.ErrorIs(t, w.Commit(), storage.ErrCalledOff)
	_, err = o.CreateObject(t.Context(), keyOf(1, storage.KindCopy), storage.ID{})
	require.ErrorIs(t, err, storage.ErrCalledOff)
	require.Zero(t, o.Usage().Used)
}

func TestLimit(t *testing.T) {
	s := New(1 << 20)
	o := s.Of("a")
	put(t, o, keyOf(1, storage.KindPart), make([]byte, 700<<10))
	w, err := o.create(t.Context(), keyOf(2, storage.KindPart))
	require.NoError(t, err)
	_, err = w.Write(make([]byte, 700<<10))
	require.ErrorIs(t, err, ErrLimit)
	require.ErrorContains(t, err, "CRAFT_MEM_COPIES")
	require.ErrorContains(t, err, "CRAFT_MEM_LIMIT")
	require.NoError(t, w.Abort())
	require.Len(t, content(t, o, keyOf(1, storage.KindPart)), 700<<10)
	require.EqualValues(t, 3*extentSize, s.Usage().Used)
}

// What comes for an object that was thrown away goes nowhere: its memory may be another one's.
func TestLateBytes(t *testing.T) {
	o := New(0).Of("a")
	w, err := o.CreateObject(t.Context(), keyOf(1, storage.KindCopy), storage.ID{})
	require.NoError(t, err)
	take, _, err := w.(*receiver).Expect(300 << 10)
	require.NoError(t, err)
	require.NoError(t, w.Abort())
	put(t, o, keyOf(2, storage.KindPart), make([]byte, 600<<10))
	var late sync.WaitGroup
	late.Go(func() { take(bytes.Repeat([]byte{7}, 300<<10)) })
	late.Wait()
	require.Equal(t, make([]byte, 600<<10), content(t, o, keyOf(2, storage.KindPart)))
}

// What is expected when the object has been thrown away takes no memory, which nobody would give back.
func TestLateExpectation(t *testing.T) {
	o := New(0).Of("a")
	w, err := o.CreateObject(t.Context(), keyOf(1, storage.KindCopy), storage.ID{})
	require.NoError(t, err)
	require.NoError(t, w.Abort())
	_, _, err = w.(*receiver).Expect(300 << 10)
	require.ErrorIs(t, err, fs.ErrClosed)
	require.Zero(t, o.Usage().Used)
}

// passed sends a part to another store as a stream of package exchange does: what is borrowed comes
// through Expect, what is written through Write.
type passed struct {
	storage.PartWriter
}

func (p passed) Borrow(b []byte) error {
	take, _, err := p.PartWriter.(*receiver).Expect(len(b))
	if err == nil {
		take(b)
	}
	return err
}
func (p passed) GiveBack() error { return nil }

// Versions that repeat pieces of the one before are whole everywhere, when that is forgotten, and take up
// what has changed.
func TestRepeat(t *testing.T) {
	rng := testseed.Rand(t)
	here, there := New(0), New(0)
	mine, theirs := here.Of("a"), there.Of("a")
	const chunks = 40
	data := random(rng, chunks*extentSize)
	offsets := make([]int64, chunks)
	for v := uint64(1); v < 12; v++ {
		own, err := mine.create(context.Background(), keyOf(v, storage.KindPart))
		require.NoError(t, err)
		copied, err := theirs.CreateObject(context.Background(), keyOf(v, storage.KindCopy), storage.ID{Version: v - 1})
		require.NoError(t, err)
		w := &sharing{own: own, others: []*sender{{to: passed{copied}, reads: v%3 > 0}}}
		var to container.Repeater = w
		repeats := to.Base(v - 1)
		require.Equal(t, v > 1, repeats)
		var whole []byte
		head := random(rng, 1+rng.IntN(5000))
		_, err = w.Write(head)
		require.NoError(t, err)
		whole = append(whole, head...)
		for c := range chunks {
			chunk := data[c*extentSize:][:extentSize]
			at := int64(len(whole))
			if repeats && rng.IntN(10) > 0 {
				require.NoError(t, to.Repeat(offsets[c], extentSize))
			} else {
				copy(chunk, random(rng, 64))
				_, err := w.Write(chunk)
				require.NoError(t, err)
			}
			offsets[c] = at
			whole = append(whole, chunk...)
		}
		require.NoError(t, w.Commit())
		mine.Forget(storage.ID{Version: v - 1})
		theirs.Forget(storage.ID{Version: v - 1})
		require.True(t, bytes.Equal(whole, content(t, mine, keyOf(v, storage.KindPart))))
		require.True(t, bytes.Equal(whole, content(t, theirs, keyOf(v, storage.KindCopy))))
		for _, s := range []*Store{here, there} {
			require.LessOrEqual(t, s.Usage().Used, int64((chunks+2)*extentSize))
		}
	}
}

func TestRepeatOfNothing(t *testing.T) {
	o := New(0).Of("a")
	w, err := o.CreateObject(t.Context(), keyOf(2, storage.KindCopy), storage.ID{Version: 1})
	require.NoError(t, err)
	r := recipe{base: storage.ID{Version: 1}}
	r.add(100, 10)
	require.NoError(t, send(passed{w}, r.records()))
	require.ErrorIs(t, w.Commit(), storage.ErrNotFound)
	require.Zero(t, o.Usage().Used)
}

// TestRepeatOfSmallPieces: what has not changed among what has keeps little more than itself in memory.
func TestRepeatOfSmallPieces(t *testing.T) {
	rng := testseed.Rand(t)
	here, there := New(0), New(0)
	mine, theirs := here.Of("a"), there.Of("a")
	const pieces, size = 300, 20 << 10
	data := random(rng, pieces*size)
	for v := uint64(1); v < 300; v++ {
		own, err := mine.create(t.Context(), keyOf(v, storage.KindPart))
		require.NoError(t, err)
		copied, err := theirs.CreateObject(t.Context(), keyOf(v, storage.KindCopy), storage.ID{Version: v - 1})
		require.NoError(t, err)
		w := &sharing{own: own, others: []*sender{{to: passed{copied}, reads: v%3 > 0}}}
		repeats := w.Base(v - 1)
		for c := range pieces {
			if repeats && rng.IntN(100) > 0 {
				require.NoError(t, w.Repeat(int64(c*size), size))
				continue
			}
			piece := data[c*size:][:size]
			copy(piece, random(rng, 64))
			_, err := w.Write(piece)
			require.NoError(t, err)
		}
		require.NoError(t, w.Commit())
		mine.Forget(storage.ID{Version: v - 1})
		theirs.Forget(storage.ID{Version: v - 1})
		require.True(t, bytes.Equal(data, content(t, mine, keyOf(v, storage.KindPart))))
		require.True(t, bytes.Equal(data, content(t, theirs, keyOf(v, storage.KindCopy))))
	}
	for _, s := range []*Store{here, there} {
		require.LessOrEqual(t, s.Usage().Most, int64(2*pieces*size+4*extentSize), "two versions")
	}
}
