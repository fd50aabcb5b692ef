package nodelocal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

func TestFileNames(t *testing.T) {
	for kind, want := range map[storage.Kind]string{
		storage.KindPart:   "rank-00003-of-00008.craft",
		storage.KindCopy:   "copy-rank-00003-of-00008.craft",
		storage.KindParity: "parity-rank-00003-of-00008.craft",
	} {
		key := someKey(1, kind, 3)
		require.Equal(t, want, key.File())
		got, part, ok := storage.ParseObject(want)
		require.True(t, ok)
		require.Equal(t, kind, got)
		require.Equal(t, key.Part, part)
		require.True(t, isHidden(hiddenName(want, "ABC")))
		_, _, ok = storage.ParseObject(hiddenName(want, "ABC"))
		require.False(t, ok)
	}
	for _, name := range []string{"", "copy-", "copy-copy-rank-00003-of-00008.craft", "old-rank-00003-of-00008.craft", "rank-00008-of-00008.craft", "OWNER.json"} {
		_, _, ok := storage.ParseObject(name)
		require.False(t, ok, name)
		require.False(t, isHidden(name), name)
	}
	require.Equal(t, "Kind(7)", storage.Kind(7).String())
}

// Names that go to other ranks come back as the same key; nothing else is taken.
func TestKeyNames(t *testing.T) {
	for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy, storage.KindParity} {
		key := someKey(12, kind, 5)
		got, err := storage.ParseObjectKey(key.Name())
		require.NoError(t, err)
		require.Equal(t, key, got)
	}
	good := someKey(12, storage.KindCopy, 5).Name()
	require.Equal(t, "v-000012-0700000000000000/copy-rank-00005-of-00008.craft", good)
	for _, bad := range []string{
		"", "/", good + "/", "/" + good, "../" + good, good + "x", "x" + good,
		"v-000012-0700000000000000", "v-000012-0700000000000000/", "v-000012-0700000000000000/OWNER.json",
		"v-000012-0700000000000000/../copy-rank-00005-of-00008.craft",
		"v-000012-0700000000000000/copy-rank-00008-of-00008.craft",
		"v-000012-0700000000000000/copy-rank-00005-of-00008.craft/..",
		"v-000000-0700000000000000/copy-rank-00005-of-00008.craft",
		"v-12-0700000000000000/copy-rank-00005-of-00008.craft",
		"v-000012-070000000000000g/copy-rank-00005-of-00008.craft",
	} {
		_, err := storage.ParseObjectKey(bad)
		require.ErrorIs(t, err, storage.ErrName, bad)
	}
}

func TestBadKeys(t *testing.T) {
	s := newStore(t, config("/node", vfs.NewMem()))
	for _, bad := range []storage.ObjectKey{{}, someKey(0, storage.KindPart, 0), someKey(1, storage.KindPart, 8), someKey(1, storage.KindPart, -1), someKey(1, storage.Kind(3), 0), someKey(1, storage.Kind(-1), 0)} {
		_, err := s.CreateObject(t.Context(), bad)
		require.Error(t, err)
		_, err = s.OpenObject(t.Context(), bad)
		require.Error(t, err)
		require.NotErrorIs(t, err, storage.ErrNotFound)
	}
}

// Objects of all kinds and of any rank are beside each other; each view sees
// its own.
func TestKinds(t *testing.T) {
	s := newStore(t, config("/node", vfs.NewMem()))
	for i, kind := range []storage.Kind{storage.KindPart, storage.KindCopy, storage.KindParity} {
		put(t, s, someKey(1, kind, 3), kind.String())
		put(t, s, someKey(2, kind, i), "")
	}
	put(t, s, someKey(10, storage.KindCopy, 0), "later")
	objects, err := s.Inventory(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Object{
		{someKey(1, storage.KindPart, 3), 4}, {someKey(1, storage.KindCopy, 3), 4}, {someKey(1, storage.KindParity, 3), 6},
		{someKey(2, storage.KindPart, 0), 0}, {someKey(2, storage.KindCopy, 1), 0}, {someKey(2, storage.KindParity, 2), 0},
		{someKey(10, storage.KindCopy, 0), 5},
	}, objects)

	copies, err := s.Of(storage.KindCopy).List(t.Context())
	require.NoError(t, err)
	parts, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, parts, 3, "numbers that are taken must be seen by all")
	part := func(rank int) []storage.Part { return []storage.Part{{Rank: rank, Size: 8}} }
	require.Equal(t, part(1), copies[1].Parts)
	require.Equal(t, part(0), parts[1].Parts)
	require.Empty(t, parts[2].Parts)

	require.NoError(t, s.Remove(t.Context(), someKey(1, storage.KindPart, 3).ID))
	require.NoError(t, s.Remove(t.Context(), someKey(1, storage.KindPart, 3).ID), "a second time")
	_, err = s.OpenObject(t.Context(), someKey(1, storage.KindCopy, 3))
	require.ErrorIs(t, err, storage.ErrNotFound)
	require.NoError(t, s.Of(storage.KindCopy).Remove(t.Context(), someKey(2, storage.KindCopy, 1).ID))
	require.Equal(t, []storage.ObjectKey{someKey(10, storage.KindCopy, 0)}, keys(t, s))
}

// A directory with the name of an object is none.
func TestNotAFile(t *testing.T) {
	mem := vfs.NewMem()
	s := newStore(t, config("/node", mem))
	put(t, s, someKey(1, storage.KindPart, 0), "x")
	strange := someKey(1, storage.KindPart, 1)
	require.NoError(t, mem.Mkdir(s.path(strange), 0o700))
	require.Equal(t, []storage.ObjectKey{someKey(1, storage.KindPart, 0)}, keys(t, s))
	_, err := s.OpenObject(t.Context(), strange)
	require.ErrorContains(t, err, "not a regular file")
}
