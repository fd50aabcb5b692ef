package memory

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
)

// TestBequest: an heir has all objects, of all checkpoints, and goes on in the same memory.
func TestBequest(t *testing.T) {
	rng := testseed.Rand(t)
	limit := int64(64 << 20)
	s := New(limit)
	want := make(map[string]map[storage.ObjectKey][]byte)
	var before []*Store
	for generation := range 4 {
		for version := range 6 {
			for _, checkpoint := range []string{"a", "b"} {
				o := s.Of(checkpoint)
				if want[checkpoint] == nil {
					want[checkpoint] = make(map[storage.ObjectKey][]byte)
				}
				key := keyOf(uint64(10*generation+version+1), []storage.Kind{storage.KindPart, storage.KindCopy}[version%2])
				data := random(rng, 1+rng.IntN(1<<20))
				put(t, o, key, data)
				want[checkpoint][key] = data
				byVersion := func(a, b storage.ObjectKey) int { return cmp.Compare(a.ID.Version, b.ID.Version) }
				for _, old := range slices.SortedFunc(maps.Keys(want[checkpoint]), byVersion) { // memory is used again
					if old != key && rng.IntN(3) == 0 { // else there may be nothing to leave
						o.Forget(old.ID)
						delete(want[checkpoint], old)
					}
				}
			}
		}
		used := s.Usage().Used
		name, left := s.Bequeath()
		require.Equal(t, BequestName, name)
		require.NotEmpty(t, left)
		_, err := s.Of("a").create(t.Context(), keyOf(99, storage.KindPart))
		if err == nil { // it fails when it wants memory
			w, err := s.Of("a").create(t.Context(), keyOf(99, storage.KindPart))
			require.NoError(t, err)
			_, err = w.Write([]byte("late"))
			require.ErrorIs(t, err, errClosed)
			require.NoError(t, w.Abort())
		}
		heir := New(limit)
		require.NoError(t, heir.Inherit(left))
		require.Equal(t, used, heir.Usage().Used)
		for checkpoint, objects := range want {
			require.Len(t, heir.Of(checkpoint).Inventory(), len(objects))
			for key, data := range objects {
				require.True(t, bytes.Equal(data, content(t, heir.Of(checkpoint), key)), "%s %v of generation %d", checkpoint, key, generation)
			}
		}
		before, s = append(before, s), heir
	}
	runtime.KeepAlive(before) // else their memory is given back, as if they were ranks in one process
	require.NoError(t, s.Close())
	require.Zero(t, s.Usage().Used)
}

// TestNoBequest: of what is not understood, or not there, nothing is taken.
func TestNoBequest(t *testing.T) {
	s := New(0)
	_, left := s.Bequeath()
	require.Empty(t, left, "there is nothing")
	require.NoError(t, New(0).Inherit(left))

	rng := rand.New(rand.NewPCG(1, 2))
	s = New(0)
	put(t, s.Of("a"), keyOf(1, storage.KindPart), random(rng, 3*extentSize))
	_, left = s.Bequeath()
	heir := New(0)
	require.Error(t, heir.Inherit(append([]comm.Memory{{PID: 1, FD: 1, Size: 4096}}, left[1:]...)))
	require.Error(t, heir.Inherit([]comm.Memory{left[0], {PID: left[1].PID, FD: left[1].FD, Size: left[1].Size, Token: 7}}))
	require.ErrorIs(t, heir.Inherit(left[:1]), errContents)
	require.Empty(t, heir.Of("a").Inventory())
	require.NoError(t, heir.Inherit(left))
	require.Len(t, heir.Of("a").Inventory(), 1)
}

// TestContentsThatCannotBe: a piece that is in no slab, and objects that are not as long as their pieces.
func TestContentsThatCannotBe(t *testing.T) {
	one := []*slab{{free: make([]bool, 2)}}
	good := leftPiece{0, 1, 0, extentSize}
	require.NoError(t, contents{[]leftObject{{Size: extentSize, Pieces: []leftPiece{good}}}}.check(one))
	for _, bad := range []leftObject{
		{Size: 5, Pieces: []leftPiece{good}},
		{Size: extentSize, Pieces: []leftPiece{{1, 1, 0, extentSize}}},
		{Size: extentSize, Pieces: []leftPiece{{-1, 1, 0, extentSize}}},
		{Size: extentSize, Pieces: []leftPiece{{0, 2, 0, extentSize}}},
		{Size: extentSize, Pieces: []leftPiece{{0, -1, 0, extentSize}}},
		{Size: extentSize, Pieces: []leftPiece{{0, 0, 1, extentSize}}},
		{Size: extentSize, Pieces: []leftPiece{{0, 0, -1, extentSize}}},
		{Size: 0, Pieces: []leftPiece{{0, 0, 0, 0}}},
	} {
		require.ErrorIs(t, contents{[]leftObject{bad}}.check(one), errContents, fmt.Sprint(bad))
	}
	for _, b := range [][]byte{nil, make([]byte, 7), binary.LittleEndian.AppendUint64(nil, 1<<63), append(binary.LittleEndian.AppendUint64(nil, 3), 1, 2, 3)} {
		_, err := readContents(b)
		require.ErrorIs(t, err, errContents)
	}
}
