package erasure

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
)

// healing is a version of which redundancy was made anew with other sets, until
// that was cut off: each rank has the parity file of one set, or none.
type healing struct {
	v      version
	parts  [][]byte // by rank
	files  [][]byte // of parity, by rank
	sets   []*set
	ranks  [][]int // of the sets
	opened atomic.Int64
}

func newHealing(rng *rand.Rand, ranks int) *healing {
	h := &healing{v: version{idOf(5), ranks}, files: make([][]byte, ranks)}
	for range ranks {
		h.parts = append(h.parts, bytesOf(rng, 1000+rng.IntN(500)))
	}
	return h
}

// protect makes the parity of a set. Some ranks of it get their files, in place of
// those that they have.
func (h *healing) protect(t *testing.T, parity int, set []int, holders ...int) {
	var parts [][]byte
	for _, rank := range set {
		parts = append(parts, h.parts[rank])
	}
	made := encoded(t, Layout{Members: len(set), Parity: parity, Block: 64}, h.v, set, parts)
	h.sets, h.ranks = append(h.sets, made), append(h.ranks, set)
	for member, rank := range set {
		if slices.Contains(holders, rank) {
			h.files[rank] = made.files[member]
		}
	}
}

// rebuild gets back the part of a rank when some have lost all that they have.
func (h *healing) rebuild(t *testing.T, rank int, lost ...int) ([]byte, error) {
	var out bytes.Buffer
	err := RebuildPart(t.Context(), h.v.id, storage.Part{Rank: rank, Size: h.v.size}, func(_ context.Context, key storage.ObjectKey) (storage.PartReader, error) {
		data := h.parts[key.Part.Rank]
		if key.Kind == storage.KindParity {
			data = h.files[key.Part.Rank]
		}
		if data == nil || slices.Contains(lost, key.Part.Rank) {
			return nil, storage.ErrNotFound
		}
		h.opened.Add(1)
		return closing{bytes.NewReader(data), &h.opened}, nil
	}, &out)
	require.Zero(t, h.opened.Load(), "files are open")
	return out.Bytes(), err
}

type closing struct {
	*bytes.Reader
	opened *atomic.Int64
}

func (c closing) Close() error {
	c.opened.Add(-1)
	return nil
}

// suffices reports whether one of the sets alone gives a part back.
func (h *healing) suffices(t *testing.T, rank int, lost []int) bool {
	for i, s := range h.sets {
		sources := make([]source, len(s.parts))
		left := false
		for member, r := range h.ranks[i] {
			if slices.Contains(lost, r) {
				continue
			}
			sources[member].part = bytes.NewReader(s.parts[member])
			if bytes.Equal(h.files[r], s.files[member]) {
				sources[member].parity, left = s.open(t, member), true
			}
		}
		member := slices.Index(h.ranks[i], rank)
		if member >= 0 && left && s.rebuild(t.Context(), sources, member, io.Discard) == nil {
			return true
		}
	}
	return false
}

// The first parity that is found may be that of the poorer set.
func TestRebuildPartFromTheBetterSet(t *testing.T) {
	h := newHealing(testseed.Rand(t), 6)
	h.protect(t, 1, []int{1, 3, 5}, 1, 5)
	h.protect(t, 1, []int{0, 3, 4}, 0)
	got, err := h.rebuild(t, 3, 3)
	require.NoError(t, err)
	require.True(t, bytes.Equal(h.parts[3], got))

	h.files[5] = nil // now neither suffices
	_, err = h.rebuild(t, 3, 3)
	require.ErrorIs(t, err, ErrTooManyLost)
}

// A rank whose set of now is another one may have parity of before.
func TestRebuildPartFromADistantRank(t *testing.T) {
	h := newHealing(testseed.Rand(t), 4)
	h.protect(t, 1, []int{1, 3}, 1)
	h.protect(t, 1, []int{0, 1}, 0)
	got, err := h.rebuild(t, 3, 3)
	require.NoError(t, err)
	require.True(t, bytes.Equal(h.parts[3], got))
}

// Whatever is left of two arrangements: if one set suffices, the part comes back.
func TestRebuildPartOfTwoArrangements(t *testing.T) {
	rng := testseed.Rand(t)
	rebuilt, failed := 0, 0
	for range 150 {
		h := newHealing(rng, 8)
		parity := 1 + rng.IntN(2)
		healed := rng.Perm(8)[:rng.IntN(9)]
		for _, holders := range [][]int{rng.Perm(8)[:6+rng.IntN(3)], healed} {
			order := rng.Perm(8)
			h.protect(t, parity, order[:4], holders...)
			h.protect(t, parity, order[4:], holders...)
		}
		lost := rng.Perm(8)[:1+rng.IntN(2)]
		for _, rank := range lost {
			got, err := h.rebuild(t, rank, lost...)
			if !h.suffices(t, rank, lost) {
				require.Error(t, err)
				failed++
				continue
			}
			require.NoError(t, err)
			require.True(t, bytes.Equal(h.parts[rank], got))
			rebuilt++
		}
	}
	t.Logf("%d rebuilt, %d not", rebuilt, failed)
	require.NotZero(t, rebuilt)
	require.NotZero(t, failed)
}
