package container

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// lender gives out values in pieces of its own memory, which it spoils as soon
// as they are given back.
type lender struct {
	pieces [][]byte
	last   []bool
	err    error // after the pieces
	next   int

	mu   sync.Mutex
	back int
}

func (l *lender) add(value []byte, chunk int) {
	for len(value) > chunk {
		l.pieces, l.last = append(l.pieces, bytes.Clone(value[:chunk])), append(l.last, false)
		value = value[chunk:]
	}
	l.pieces, l.last = append(l.pieces, bytes.Clone(value)), append(l.last, true)
}

func (l *lender) Next(context.Context) ([]byte, int64, bool, error) {
	if l.next == len(l.pieces) {
		return nil, 0, false, l.err
	}
	i := l.next
	l.next++
	return l.pieces[i], int64(i), l.last[i], nil
}

func (l *lender) Release(token int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.back++
	clear(l.pieces[token])
}

// A section that is fed gives the same file as one that is in memory, and all
// pieces are given back.
func TestFeed(t *testing.T) {
	const chunk = 16 << 10
	rng := rand.New(rand.NewPCG(1, 2))
	for _, workers := range []int{1, 3} {
		for _, compression := range []Compression{Off, Auto, Always} {
			var plain, fed []Section
			l := new(lender)
			for i, n := range []int{0, 8, chunk, chunk + 1, 100, 40 * chunk, 0, 8} {
				value := make([]byte, n)
				for j := range value {
					value[j] = byte(rng.Uint32N(4))
				}
				s := Section{Key: string(rune('a' + i)), Desc: Desc{Elem: Opaque, Type: "test"}}
				s.Spans = [][]byte{value}
				plain = append(plain, s)
				if s.Spans = nil; i != 4 {
					l.add(value, chunk)
					s.Feed = l
				} else {
					s.Spans = [][]byte{value}
				}
				fed = append(fed, s)
			}
			var want, have bytes.Buffer
			e, err := NewEncoder(Options{ChunkSize: chunk, Workers: workers, Compression: compression})
			require.NoError(t, err)
			h := Header{Name: "x", Version: 1, Size: 1}
			_, err = e.Encode(t.Context(), &want, h, plain)
			require.NoError(t, err)
			_, err = e.Encode(t.Context(), &have, h, fed)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want.Bytes(), have.Bytes()))
			require.Equal(t, len(l.pieces), l.back)
		}
	}
}

func TestFeedThatFails(t *testing.T) {
	const chunk = 16 << 10
	broken := errors.New("no more")
	for _, workers := range []int{1, 3} {
		e, err := NewEncoder(Options{ChunkSize: chunk, Workers: workers})
		require.NoError(t, err)
		l := &lender{err: broken}
		l.add(make([]byte, 100*chunk), chunk)
		l.last[100-1] = false
		_, err = e.Encode(t.Context(), new(bytes.Buffer), Header{Name: "x", Version: 1, Size: 1}, []Section{{Key: "a", Feed: l, Desc: Desc{Type: "test"}}})
		require.ErrorIs(t, err, broken)

		l = new(lender) // pieces of a wrong size
		l.add(make([]byte, 2*chunk), chunk/2)
		_, err = e.Encode(t.Context(), new(bytes.Buffer), Header{Name: "x", Version: 1, Size: 1}, []Section{{Key: "a", Feed: l, Desc: Desc{Type: "test"}}})
		require.ErrorIs(t, err, ErrInvalid)
	}
}

func TestDigestIsThatOfTheFile(t *testing.T) {
	value := make([]byte, 100_000)
	spans := [][]byte{value[:70_000], value[70_000:]}
	e, err := NewEncoder(Options{ChunkSize: 16 << 10})
	require.NoError(t, err)
	_, err = e.Encode(t.Context(), new(bytes.Buffer), Header{Name: "x", Version: 1, Size: 1}, []Section{{Key: "a", Spans: spans, Desc: Desc{Type: "test"}}})
	require.NoError(t, err)
	require.Equal(t, e.AppendDigests(nil), []uint64{Digest(spans, e.ChunkSize())})
}
