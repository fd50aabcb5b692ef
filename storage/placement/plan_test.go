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

// What a failed version was due for in files is made up for by the next one but one if the next one is due for memory
// alone, which does not fail for want of files then.
func TestMemoryAfterAFailure(t *testing.T) {
	policy, err := storage.ParsePolicy("mem:1,local:3,pfs:9")
	require.NoError(t, err)
	mem, local := storage.LevelsOf(storage.Mem), storage.LevelsOf(storage.Mem, storage.Local)
	all := local.With(storage.LevelsOf(storage.PFS))
	s := &planner{policy: policy}
	for _, c := range []struct {
		version uint64
		plan    storage.Levels
		ends    func(storage.Levels) (missed storage.Levels, failed bool)
	}{
		{9, all, failed},
		{10, mem, good},
		{11, all, failed},
		{12, all, failed}, // is due itself
		{13, mem, failed}, // for another reason
		{14, all, good},
		{15, local, good},
		{16, mem, failed},
		{17, mem, good},
	} {
		require.Equal(t, c.plan, s.plan(c.version), c.version)
		missed, fails := c.ends(c.plan)
		s.settled(c.version, missed, fails)
	}
}

func failed(plan storage.Levels) (storage.Levels, bool) { return plan, true }
func good(storage.Levels) (storage.Levels, bool)        { return 0, false }

// A version that is to be at home is not said to be on the nodes, too, where none is.
func TestDemandWithoutLevels(t *testing.T) {
	home := storage.LevelsOf(storage.PFS)
	for _, policy := range []storage.Policy{nil, {storage.PFS.Every(10)}} {
		p := &planner{policy: policy}
		p.demand(3)
		require.Equal(t, home, p.plan(3))
	}
	p := &planner{policy: storage.Policy{storage.Local.Every(1), storage.PFS.Every(10)}}
	p.demand(3)
	require.Equal(t, home.With(storage.LevelsOf(storage.Local)), p.plan(3))
	require.Equal(t, storage.LevelsOf(storage.Local), p.plan(4))
}
