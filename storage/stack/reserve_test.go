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
		want     storage.Plan
	}{
		{3, 4, storage.Plan{Node: storage.Local}},
		{3, 5, storage.Plan{Node: storage.Partner}},
		{5, 9, storage.Plan{Node: storage.Local}},
		{19, 30, storage.Plan{Node: storage.RS}},
		{20, 39, storage.Plan{Node: storage.Partner}},
		{45, 50, storage.Plan{Node: storage.Partner, Flush: true}},
		{3, 103, storage.Plan{Node: storage.RS, Flush: true}},
	} {
		s := &Stack{Config: Config{Policy: policy}}
		s.Skip(c.from, c.to)
		next := c.to + 1
		require.Equal(t, storage.Plan{Node: max(c.want.Node, policy.Plan(next).Node), Flush: c.want.Flush || policy.Plan(next).Flush}, s.Plan(next), "%+v", c)
	}
}
