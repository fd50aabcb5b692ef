package erasure

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/klauspost/reedsolomon"
	"github.com/stretchr/testify/require"
)

// eachLayout runs f for all layouts of 2 to 8 members with up to 3 parities.
func eachLayout(block int, f func(Layout)) {
	for s := 2; s <= 8; s++ {
		for m := 1; m <= min(3, s-1); m++ {
			f(Layout{Members: s, Parity: m, Block: block})
		}
	}
}

// unevenSizes are sizes with empty parts, parts of one byte, of whole blocks
// and of all else among them.
func unevenSizes(rng *rand.Rand, l Layout) []int64 {
	sizes := make([]int64, l.Members)
	longest := 1 + rng.IntN(9*l.Block)
	for i := range sizes {
		switch rng.IntN(6) {
		case 0:
			sizes[i] = 0
		case 1:
			sizes[i] = 1
		case 2:
			sizes[i] = int64(l.Block * rng.IntN(9))
		default:
			sizes[i] = int64(rng.IntN(longest + 1))
		}
	}
	return sizes
}

// set is the parts of a set and its parity files.
type set struct {
	code   *Code
	parts  [][]byte
	files  [][]byte // parity files
	header Header   // but for the member
	after  Parts
}

func newSet(t testing.TB, rng *rand.Rand, l Layout, sizes []int64) *set {
	code, err := NewCode(l)
	require.NoError(t, err)
	s := &set{code: code, header: Header{Layout: l, Identity: []byte("lanczos v-7")}}
	for _, size := range sizes {
		part := make([]byte, size)
		for i := range part {
			part[i] = byte(rng.Uint32())
		}
		s.parts = append(s.parts, part)
		s.after.Sizes = append(s.after.Sizes, size)
		s.after.Digests = append(s.after.Digests, checksum(part))
	}
	s.encode(t)
	return s
}

// encoded is the set of some ranks of a version, with parity made by the library
// alone.
func encoded(t testing.TB, l Layout, v version, ranks []int, parts [][]byte) *set {
	code, err := NewCode(l)
	require.NoError(t, err)
	s := &set{code: code, parts: parts, header: Header{Layout: l, Identity: appendIdentity(nil, v, ranks)}}
	for _, part := range parts {
		s.after.Sizes = append(s.after.Sizes, int64(len(part)))
		s.after.Digests = append(s.after.Digests, checksum(part))
	}
	s.encode(t)
	return s
}

// encode does what ranks do that do not know the sizes: stripe by stripe, until
// nobody gives anything.
func (s *set) encode(t testing.TB) {
	l := s.header.Layout
	writers := make([]*ParityWriter, l.Members)
	files := make([]bytes.Buffer, l.Members)
	for i := range writers {
		h := s.header
		h.Member = i
		var err error
		writers[i], err = NewParityWriter(&files[i], h)
		require.NoError(t, err)
	}
	given := make([]int, l.Members)
	for stripe := int64(0); ; stripe++ {
		blocks, length := s.give(stripe, given)
		if length == 0 && slices.Equal(given, s.lengths()) {
			break
		}
		for row := range l.Parity {
			blocks[l.Holder(stripe, row)] = make([]byte, length)
		}
		encodeStripe(t, l, stripe, blocks)
		for row := range l.Parity {
			holder := l.Holder(stripe, row)
			require.NoError(t, writers[holder].WriteBlock(stripe, blocks[holder]))
		}
	}
	for i, w := range writers {
		require.NoError(t, w.Finish(s.after))
		s.files = append(s.files, files[i].Bytes())
	}
}

// encodeStripe computes the parity blocks of a stripe with the library alone: the
// blocks of data with zeros behind them, in the order that the package says.
func encodeStripe(t testing.TB, l Layout, stripe int64, blocks [][]byte) {
	shards := make([][]byte, l.Members)
	for row := range l.Parity {
		shards[l.Data()+row] = blocks[(int(stripe)+row)%l.Members]
	}
	length := len(shards[l.Data()])
	if length == 0 {
		return
	}
	for column := range l.Data() {
		shards[column] = make([]byte, length)
		copy(shards[column], blocks[(int(stripe)+l.Parity+column)%l.Members])
	}
	l.Block = 0
	library, known := libraries.Load(l)
	if !known {
		e, err := reedsolomon.New(l.Data(), l.Parity, reedsolomon.WithFastOneParityMatrix())
		require.NoError(t, err)
		library, _ = libraries.LoadOrStore(l, e)
	}
	require.NoError(t, library.(reedsolomon.Encoder).Encode(shards))
}

// libraries are the library's encoders by Layout without a block: making one takes
// longer than most stripes.
var libraries sync.Map

func (s *set) give(stripe int64, given []int) (blocks [][]byte, length int) {
	l := s.header.Layout
	blocks = make([][]byte, l.Members)
	for member, part := range s.parts {
		if _, parity := l.Row(stripe, member); !parity {
			blocks[member] = part[given[member]:min(given[member]+l.Block, len(part))]
			given[member] += len(blocks[member])
			length = max(length, len(blocks[member]))
		}
	}
	return blocks, length
}

func (s *set) lengths() []int {
	var n []int
	for _, p := range s.parts {
		n = append(n, len(p))
	}
	return n
}

func (s *set) open(t testing.TB, member int) *ParityReader {
	p, err := OpenParity(bytes.NewReader(s.files[member]), int64(len(s.files[member])))
	require.NoError(t, err)
	return p
}

// sources are what is left when members are lost.
func (s *set) sources(t testing.TB, lost ...int) []source {
	out := make([]source, len(s.parts))
	for i := range out {
		if !slices.Contains(lost, i) {
			out[i] = source{part: bytes.NewReader(s.parts[i]), parity: s.open(t, i)}
		}
	}
	return out
}

// rebuild writes the part of a member, made from what is left.
func (s *set) rebuild(ctx context.Context, sources []source, member int, w io.Writer) error {
	first := slices.IndexFunc(sources, func(s source) bool { return s.parity != nil })
	return newRebuild(s.code, sources[first].parity, sources, member).writeTo(ctx, w)
}

// requireRebuilt loses members and requires that all of their parts come back.
func (s *set) requireRebuilt(t testing.TB, sources []source, members ...int) {
	for _, m := range members {
		var part bytes.Buffer
		require.NoError(t, s.rebuild(t.Context(), sources, m, &part), "member %d of lost %v", m, members)
		require.True(t, bytes.Equal(s.parts[m], part.Bytes()), "part of member %d of lost %v differs", m, members)
	}
}

// choices returns all ways to lose 1 to n of s members.
func choices(s, n int) [][]int {
	var out [][]int
	for bits := 1; bits < 1<<s; bits++ {
		var c []int
		for i := range s {
			if bits>>i&1 == 1 {
				c = append(c, i)
			}
		}
		if len(c) <= n {
			out = append(out, c)
		}
	}
	return out
}

func about(l Layout, sizes []int64) string { return fmt.Sprintf("%+v, sizes %v", l, sizes) }
