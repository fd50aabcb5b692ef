package placement

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

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
		s := &planner{policy: policy}
		s.skipNumbers(c.from, c.to)
		next := c.to + 1
		require.Equal(t, policy.Plan(next).With(storage.LevelsOf(c.want...)), s.plan(next), "%+v", c)
	}
}
