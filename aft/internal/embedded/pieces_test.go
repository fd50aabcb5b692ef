package embedded

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// cutUp is a copy of data in pieces, each in memory of its own. Some are empty.
func cutUp(random *rand.Rand, data []byte, longest int) (list [][]byte) {
	for len(data) > 0 {
		n := min(random.IntN(longest+1), len(data))
		list = append(list, bytes.Clone(data[:n]))
		data = data[n:]
	}
	return append(list, make([][]byte, random.IntN(3))...)
}

// TestPiecesAgainstOneSlice: skip and cut are what slicing is.
func TestPiecesAgainstOneSlice(t *testing.T) {
	random := testseed.Rand(t)
	for range 300 {
		data := pattern(random.IntN(500), random.Uint64())
		list := cutUp(random, data, 1+random.IntN(100))
		given := slices.Clone(list)
		p := newPieces(list)
		for len(data) > 0 {
			require.Equal(t, len(data), p.length())
			require.NotEmpty(t, p.first)
			require.True(t, bytes.Equal(data, p.clone().first))
			n := 1 + random.IntN(len(data))
			if random.IntN(2) == 0 {
				p.skip(n)
				data = data[n:]
				continue
			}
			of := p.cut(n)
			got := of.clone().first
			require.NotEmpty(t, got)
			require.LessOrEqual(t, len(got), n)
			require.True(t, bytes.Equal(data[:len(got)], got))
			require.True(t, len(of.rest) == 0 || len(p.first)+len(got) > n || len(p.first) == 0, "as many as fit")
			data = data[len(got):]
		}
		require.Zero(t, p.length())
		require.Empty(t, p.first)
		require.Equal(t, given, list, "the list is the caller's")
	}
}

// TestPiecesAreFewFrames: short pieces share frames, a long one is cut.
func TestPiecesAreFewFrames(t *testing.T) {
	frames := func(list ...[]byte) (lengths []int) {
		for p := newPieces(list); len(p.first) > 0; {
			of := p.cut(wirePiece)
			lengths = append(lengths, of.length())
		}
		return lengths
	}
	short, long := make([]byte, wirePiece/4), make([]byte, wirePiece+10)
	require.Equal(t, []int{wirePiece, wirePiece / 4}, frames(short, nil, short, short, short, short, nil))
	require.Equal(t, []int{wirePiece, 10 + wirePiece/2, wirePiece, 10}, frames(long, short, short, long))
}

// TestSendOfPiecesAllocates: a request and what is kept of the message, as any send that waits.
func TestSendOfPiecesAllocates(t *testing.T) {
	list := [][]byte{make([]byte, 1<<20), make([]byte, 1<<20), make([]byte, 10)}
	n, _ := startNode(t, 1, t.Name(), nil)
	allocs := func(list [][]byte) float64 {
		return testing.AllocsPerRun(50, func() {
			r := newTestRequest(2)
			data := newPieces(list)
			n.wire.send(2, envelope{comm: 1, length: data.length()}, data, r)
			n.wire.cancel(r, errGivenUp)
		})
	}
	require.Equal(t, allocs(list[:1]), allocs(list))
}
