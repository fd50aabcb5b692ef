package erasure

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/erasure/striping"
)

// protected is a version of a set of some of the job's ranks, in memory.
type protected struct {
	*set
	id    storage.ID
	ranks []int
	size  int

	mu     sync.Mutex
	opened int // readers that are open
	asked  int
}

func newProtected(t testing.TB, rng *rand.Rand, l Layout, sizes []int64) *protected {
	p := &protected{set: newSet(t, rng, l, sizes), id: idOf(5), size: 32}
	for member := range l.Members {
		p.ranks = append(p.ranks, 2+3*((member+1)%l.Members)) // not in order
	}
	p.header.Identity = appendIdentity(nil, version{p.id, p.size}, p.ranks)
	p.files = nil
	p.encode(t)
	return p
}

func (p *protected) part(member int) storage.Part {
	return storage.Part{Rank: p.ranks[member], Size: p.size}
}

// without opens what is left; change may exchange what is found.
func (p *protected) without(change func(kind storage.Kind, member int, data []byte) []byte, lost ...int) Open {
	return func(_ context.Context, key storage.ObjectKey) (storage.PartReader, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked++
		member := slices.Index(p.ranks, key.Part.Rank)
		if member < 0 || slices.Contains(lost, member) || key.ID != p.id || key.Part.Size != p.size {
			return nil, storage.ErrNotFound
		}
		data := p.parts[member]
		if key.Kind == storage.KindParity {
			data = p.files[member]
		}
		if change != nil {
			if data = change(key.Kind, member, slices.Clone(data)); data == nil {
				return nil, errUnreadable
			}
		}
		p.opened++
		return &opened{bytes.NewReader(data), p}, nil
	}
}

var errUnreadable = errors.New("no such luck")

type opened struct {
	*bytes.Reader
	p *protected
}

func (o *opened) Close() error {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	o.p.opened--
	return nil
}

// Whatever the set can lose comes back, in one piece and in any others.
func TestRebuildPart(t *testing.T) {
	rng := testseed.Rand(t)
	eachLayout(64, func(l Layout) {
		sizes := unevenSizes(rng, l)
		p := newProtected(t, rng, l, sizes)
		for _, lost := range choices(l.Members, l.Parity) {
			open := p.without(nil, lost...)
			for _, member := range lost {
				var part bytes.Buffer
				require.NoError(t, RebuildPart(t.Context(), p.id, p.part(member), open, &part), about(l, sizes))
				require.True(t, bytes.Equal(p.parts[member], part.Bytes()))
				r, err := OpenRebuilt(t.Context(), p.id, p.part(member), open)
				require.NoError(t, err)
				checkReads(t, rng, r, p.parts[member])
				require.NoError(t, r.Close())
				require.NoError(t, r.Close())
				_, err = r.ReadAt(make([]byte, 1), 0)
				require.Error(t, err)
			}
		}
		require.Zero(t, p.opened)
	})
}

// checkReads reads anywhere, by some goroutines at once.
func checkReads(t *testing.T, rng *rand.Rand, r storage.PartReader, want []byte) {
	require.EqualValues(t, len(want), r.Size())
	var readers sync.WaitGroup
	for range 3 {
		dice := rand.New(rand.NewPCG(rng.Uint64(), 0))
		readers.Go(func() {
			for range 10 {
				b, off := make([]byte, dice.IntN(200)), dice.Int64N(int64(len(want))+2)
				wanted := make([]byte, len(b))
				n, err := r.ReadAt(b, off)
				m, wantErr := bytes.NewReader(want).ReadAt(wanted, off)
				if len(b) > 0 && (n != m || err != wantErr || !bytes.Equal(b, wanted)) {
					t.Errorf("%d bytes at %d of %d: %d, %v; expected %d, %v", len(b), off, len(want), n, err, m, wantErr)
				}
			}
		})
	}
	readers.Wait()
	_, err := r.ReadAt(make([]byte, 1), -1)
	require.Error(t, err)
}

// What is damaged, of another version, or cannot be opened counts as lost; where
// that is too much, the error says all of it.
func TestRebuildPartOfBadFiles(t *testing.T) {
	l := Layout{5, 2, 64}
	rng := testseed.Rand(t)
	p := newProtected(t, rng, l, []int64{700, 900, 64, 0, 800})
	other := newProtected(t, rng, l, []int64{700, 900, 64, 0, 800})
	foreign := newProtected(t, rng, l, []int64{700, 900, 64, 0, 800})
	foreign.header.Identity = appendIdentity(nil, version{idOf(6), p.size}, p.ranks)
	foreign.files = nil
	foreign.encode(t)
	wide := newProtected(t, rng, Layout{5, 2, 65}, []int64{700, 900, 64, 0, 800})
	wide.parts, wide.after, wide.files = p.parts, p.after, nil
	wide.encode(t)
	const lost = 0
	for name, bad := range map[string]func(kind storage.Kind, member int, data []byte) []byte{
		"unreadable": func(storage.Kind, int, []byte) []byte { return nil },
		"shorter":    func(_ storage.Kind, _ int, data []byte) []byte { return data[:max(0, len(data)-1)] },
		"longer":     func(_ storage.Kind, _ int, data []byte) []byte { return append(data, 0) },
		"other parts": func(kind storage.Kind, member int, data []byte) []byte {
			if kind == storage.KindParity {
				return other.files[member]
			}
			return append(data, 0)
		},
		"other layout": func(kind storage.Kind, member int, data []byte) []byte {
			if kind == storage.KindParity {
				return wide.files[member]
			}
			return append(data, 0)
		},
		"other version": func(kind storage.Kind, member int, data []byte) []byte {
			if kind == storage.KindParity {
				return foreign.files[member]
			}
			return append(data, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for one := 1; one < l.Members; one++ {
				change := func(kind storage.Kind, member int, data []byte) []byte {
					if member == one {
						return bad(kind, member, data)
					}
					return data
				}
				var part bytes.Buffer
				require.NoError(t, RebuildPart(t.Context(), p.id, p.part(lost), p.without(change, lost), &part))
				require.Equal(t, p.parts[lost], part.Bytes())
				two := one%(l.Members-1) + 1
				err := RebuildPart(t.Context(), p.id, p.part(lost), p.without(change, lost, two), io.Discard)
				require.ErrorIs(t, err, ErrTooManyLost)
				var about *storage.PartError
				require.ErrorAs(t, err, &about)
				require.Equal(t, p.part(lost), about.Part)
				if name == "unreadable" {
					require.ErrorIs(t, err, errUnreadable)
				}
			}
		})
	}
	require.Zero(t, p.opened)
}

func TestRebuildPartWithoutParity(t *testing.T) {
	p := newProtected(t, testseed.Rand(t), Layout{3, 1, 64}, []int64{100, 200, 300})
	stranger := storage.Part{Rank: 0, Size: p.size}
	for _, part := range []storage.Part{stranger, {Rank: 2, Size: 31}} {
		p.asked = 0
		err := RebuildPart(t.Context(), p.id, part, p.without(nil), io.Discard)
		require.ErrorIs(t, err, storage.ErrNotFound)
		require.LessOrEqual(t, p.asked, p.size)
		_, err = OpenRebuilt(t.Context(), p.id, part, p.without(nil))
		require.ErrorIs(t, err, storage.ErrNotFound)
	}
	err := RebuildPart(t.Context(), idOf(99), p.part(0), p.without(nil), io.Discard)
	require.ErrorIs(t, err, storage.ErrNotFound)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, RebuildPart(ctx, p.id, p.part(0), p.without(nil, 0), io.Discard), context.Canceled)
	require.Zero(t, p.opened)
}

// Wrong bytes of a part do not come back as a good one.
func TestRebuildPartFromWrongBytes(t *testing.T) {
	p := newProtected(t, testseed.Rand(t), Layout{3, 1, 64}, []int64{1000, 1000, 1000})
	open := p.without(func(kind storage.Kind, _ int, data []byte) []byte {
		if kind == storage.KindPart {
			data[64] ^= 1
			data[0] ^= 1
		}
		return data
	}, 1)
	require.ErrorIs(t, RebuildPart(t.Context(), p.id, p.part(1), open, io.Discard), ErrDamaged)
	require.Zero(t, p.opened)
}

func TestSetOf(t *testing.T) {
	p := newProtected(t, testseed.Rand(t), Layout{4, 2, 64}, []int64{1, 2, 3, 4})
	id, ranks, size, err := SetOf(p.open(t, 2).Header())
	require.NoError(t, err)
	require.Equal(t, p.id, id)
	require.Equal(t, p.ranks, ranks)
	require.Equal(t, p.size, size)
	good := p.header
	for _, bad := range [][]byte{nil, {}, good.Identity[:len(good.Identity)-1], append(slices.Clone(good.Identity), 0), append([]byte{2}, good.Identity[1:]...),
		appendIdentity(nil, version{p.id, 20}, []int{1, 2, 3, 20}), appendIdentity(nil, version{p.id, 20}, []int{1, 2, 3, 1}), appendIdentity(nil, version{p.id, 20}, []int{1, 2, 3})} {
		h := good
		h.Identity = bad
		_, _, _, err := SetOf(h)
		require.ErrorIs(t, err, ErrMismatch)
	}
}

// Recoverable says what a rebuilding finds out.
func TestRecoverable(t *testing.T) {
	eachLayout(8, func(l Layout) {
		if l.Members > 4 {
			return
		}
		sizes := make([]int64, l.Members)
		for i := range sizes {
			sizes[i] = int64(l.Members * l.Block * 2)
		}
		s := newSet(t, rand.New(rand.NewPCG(1, 2)), l, sizes)
		for bits := range 1 << (2 * l.Members) {
			part, parity := make([]bool, l.Members), make([]bool, l.Members)
			sources := make([]source, l.Members)
			var lost []int
			left := false
			for i := range l.Members {
				part[i], parity[i] = bits>>(2*i)&1 == 1, bits>>(2*i+1)&1 == 1
				if part[i] {
					sources[i].part = bytes.NewReader(s.parts[i])
				} else {
					lost = append(lost, i)
				}
				if parity[i] {
					sources[i].parity, left = s.open(t, i), true
				}
			}
			if len(lost) == 0 || !left {
				continue
			}
			var err error
			for _, member := range lost {
				err = errors.Join(err, s.rebuild(t.Context(), sources, member, io.Discard))
			}
			require.Equal(t, striping.Recoverable(l.Parity, part, parity), err == nil, "%+v: parts %v, parity %v: %v", l, part, parity, err)
		}
	})
}
