package erasure

import (
	"bytes"
	"context"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
)

// What is left may not suffice because it is damaged or gone, or because it cannot be read
// now: then it may suffice later, whatever else is wrong.
func TestRebuildPartThatPasses(t *testing.T) {
	const part, parity = storage.KindPart, storage.KindParity
	file := func(kind storage.Kind, rank int) storage.ObjectKey {
		return storage.ObjectKey{ID: idOf(5), Kind: kind, Part: storage.Part{Rank: rank, Size: 4}}
	}
	all := []storage.ObjectKey{file(parity, 1), file(parity, 2), file(parity, 3)}
	for name, c := range map[string]struct {
		later, gone, bad []storage.ObjectKey
		lasts            bool
	}{
		"no parity now":                  {later: all},
		"one parity not now":             {later: all[:1], gone: all[1:]},
		"one parity not now, others bad": {later: all[2:], bad: all[:2]},
		"no parity":                      {gone: all, lasts: true},
		"bad parity":                     {bad: all, lasts: true},
		"a part not now":                 {later: []storage.ObjectKey{file(part, 2)}},
		"a part not now, one bad":        {later: []storage.ObjectKey{file(part, 2)}, bad: []storage.ObjectKey{file(part, 3)}},
		"a part not now, one gone":       {later: []storage.ObjectKey{file(part, 2)}, gone: []storage.ObjectKey{file(part, 3), file(parity, 3)}},
		"a part gone":                    {gone: []storage.ObjectKey{file(part, 3)}, lasts: true},
		"a part gone, parity bad":        {gone: []storage.ObjectKey{file(part, 3)}, bad: all[:1], lasts: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHealing(testseed.Rand(t), 4)
			h.protect(t, 1, []int{0, 1, 2, 3}, 0, 1, 2, 3)
			open := func(_ context.Context, key storage.ObjectKey) (storage.PartReader, error) {
				data := h.parts[key.Part.Rank]
				if key.Kind == parity {
					data = h.files[key.Part.Rank]
				}
				switch {
				case slices.Contains(c.later, key):
					return nil, syscall.EMFILE
				case slices.Contains(c.gone, key):
					return nil, storage.ErrNotFound
				case slices.Contains(c.bad, key):
					data = data[:len(data)/2]
				}
				h.opened.Add(1)
				return closing{bytes.NewReader(data), &h.opened}, nil
			}
			lost := storage.Part{Rank: 0, Size: 4}
			whole := RebuildPart(t.Context(), h.v.id, lost, open, new(bytes.Buffer))
			r, read := OpenRebuilt(t.Context(), h.v.id, lost, open)
			if read == nil {
				_, read = r.ReadAt(make([]byte, r.Size()), 0)
				require.NoError(t, r.Close())
			}
			for _, err := range []error{whole, read} {
				require.Error(t, err)
				require.Equal(t, !c.lasts, storage.Passing(err), "%v", err)
				if !c.lasts {
					require.ErrorIs(t, err, syscall.EMFILE)
				}
			}
			require.Zero(t, h.opened.Load(), "files are open")
		})
	}
}

// The better set of two may be the one whose parity cannot be read now.
func TestBetterSetCannotBeRead(t *testing.T) {
	h := newHealing(testseed.Rand(t), 6)
	h.protect(t, 1, []int{1, 3, 5}, 5)
	h.protect(t, 1, []int{0, 3, 4}, 0)
	h.parts[4], h.files[4] = nil, nil
	rebuild := func(broken error) error {
		open := func(_ context.Context, key storage.ObjectKey) (storage.PartReader, error) {
			data := h.parts[key.Part.Rank]
			if key.Kind == storage.KindParity {
				data = h.files[key.Part.Rank]
			}
			switch {
			case key.Kind == storage.KindParity && key.Part.Rank == 5:
				return nil, broken
			case data == nil || key.Part.Rank == 3:
				return nil, storage.ErrNotFound
			}
			return closing{bytes.NewReader(data), &h.opened}, nil
		}
		return RebuildPart(t.Context(), h.v.id, storage.Part{Rank: 3, Size: 6}, open, new(bytes.Buffer))
	}
	err := rebuild(syscall.EIO)
	require.ErrorIs(t, err, ErrTooManyLost)
	require.ErrorIs(t, err, syscall.EIO)
	require.True(t, storage.Passing(err), "%v", err)
	require.False(t, storage.Passing(rebuild(storage.ErrNotFound)))
}
