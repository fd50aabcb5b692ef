package stack

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

func TestReserve(t *testing.T) {
	home, written := &notes{}, 0
	home.put = func([]byte) error { written++; return nil }
	s := &Stack{Config: Config{Home: home, Name: "cp"}}
	reserve := func(version uint64, attempt byte) uint64 {
		require.NoError(t, s.Reserve(t.Context(), storage.ID{Version: version, Attempt: container.AttemptID{attempt}}))
		return s.Noted().Reserved.Version
	}
	require.EqualValues(t, 109, reserve(10, 1))
	for version := uint64(11); version <= 109; version++ {
		require.EqualValues(t, 109, reserve(version, 1))
	}
	require.Equal(t, 1, written)
	require.EqualValues(t, 209, reserve(110, 1))
	require.EqualValues(t, 210+200-1, reserve(210, 1), "as many as were written")
	require.EqualValues(t, 399, reserve(300, 2), "those of another attempt do not count")
	require.EqualValues(t, uint64(math.MaxUint64), reserve(math.MaxUint64-1, 3))
	require.Equal(t, 5, written)
}

// The next version makes up for what the numbers that are left out were due for.
func TestSkip(t *testing.T) {
	policy, err := storage.ParsePolicy("local:1,partner:5,rs:20,pfs:50")
	require.NoError(t, err)
	for _, c := range []struct {
		from, to uint64
		want     []storage.Level
	}{
		{3, 4, nil},
		{3, 5, []storage.Level{storage.Partner}},
		{5, 9, nil},
		{19, 30, []storage.Level{storage.RS}},
		{20, 39, []storage.Level{storage.Partner}},
		{45, 50, []storage.Level{storage.Partner, storage.PFS}},
		{3, 103, []storage.Level{storage.RS, storage.PFS}},
	} {
		s := &Stack{Config: Config{Policy: policy}}
		s.Skip(c.from, c.to)
		next := c.to + 1
		require.Equal(t, policy.Plan(next).With(storage.LevelsOf(c.want...)), s.Plan(next), "%+v", c)
	}
}

// From the first number on that an attempt has reserved no other one that the home knows of
// has used any.
func TestAnnounced(t *testing.T) {
	s := &Stack{Config: Config{Home: &notes{put: func([]byte) error { return nil }}, Name: "cp"}}
	id := func(version uint64, attempt byte) storage.ID {
		return storage.ID{Version: version, Attempt: container.AttemptID{attempt}}
	}
	require.False(t, s.Noted().Announced(id(1, 1)), "nothing has been noted")
	check := func(attempt, other byte, first uint64) {
		t.Helper()
		n := s.Noted()
		require.True(t, n.Announced(id(first, attempt)))
		require.True(t, n.Announced(id(first+1000, attempt)), "the note may be an older one of that attempt")
		require.True(t, n.Announced(id(first-1, other)))
		require.False(t, n.Announced(id(first, other)))
		require.False(t, n.Announced(id(first+1000, other)))
	}
	require.NoError(t, s.Reserve(t.Context(), id(10, 1)))
	check(1, 2, 10)
	require.NoError(t, s.Reserve(t.Context(), id(110, 1)))
	check(1, 2, 10)
	require.NoError(t, s.GiveBack(t.Context(), id(120, 1)))
	check(1, 2, 10)

	s = &Stack{Config: s.Config, note: s.note, found: s.note}
	require.NoError(t, s.Reserve(t.Context(), id(121, 2)))
	check(2, 1, 121)
	require.NoError(t, s.GiveBack(t.Context(), id(0, 2)))
	check(1, 2, 10)

	s.note.ReservedFrom = 0 // by a program of before
	check(1, 2, 121)
}
