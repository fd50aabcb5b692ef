package checkpoint

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a version refers to is as well protected as the version itself.
func TestLevelsDeltaDamage(t *testing.T) {
	delta := []Option{WithDelta(3), WithKeep(2)} // versions 1, 2 and 5 are full
	of := func(version int, name string, at ...float64) harm {
		return func(t *testing.T, n *testNodes) {
			for _, share := range at {
				flip(t, one(t, n.files(t, version, name)), share)
			}
			if len(at) == 0 {
				require.NoError(t, os.Remove(one(t, n.files(t, version, name))))
			}
		}
	}
	for _, c := range sample(t, []struct {
		name, levels string
		harm         harm
		restored     string
	}{
		{"nothing", "partner", together(), "iteration=5"},
		{"base, copy", "partner", of(5, "rank-00003", 0.6), "iteration=5"},
		{"base and its copy in different chunks", "partner", together(of(5, "rank-00003", 0.6), of(5, "copy-rank-00003", 0.3)), "iteration=5"},
		{"base, xor", "xor", of(5, "rank-00003", 0.6), "iteration=5"},
		{"base, rs", "rs", of(5, "rank-00003", 0.6), "iteration=5"},
		{"base without end, copy", "partner", of(5, "rank-00003", 1), "iteration=5"},
		{"no base, copy", "partner", of(5, "rank-00003"), "iteration=5"},
		{"no base, xor", "xor", of(5, "rank-00003"), "iteration=5"},
		{"no bases, rs", "rs", together(of(5, "rank-00003"), of(5, "rank-00001")), "iteration=5"},
		{"base and its copy", "partner", together(of(5, "rank-00003", 0.6), of(5, "copy-rank-00003", 0.6)), "iteration=3"},
		{"no base and no copy", "partner", together(of(5, "rank-00003"), of(5, "copy-rank-00003")), "iteration=3"},
		{"no base at all, local", "local", of(5, "rank-00003"), "iteration=3"},
	}, 1) {
		t.Run(c.name, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.job(t, c.levels, 6, none, delta...)
			require.Len(t, n.files(t, 5, "rank"), 8)
			base, err := os.Stat(one(t, n.files(t, 5, "rank-00003")))
			require.NoError(t, err)
			newest, err := os.Stat(one(t, n.files(t, 6, "rank-00003")))
			require.NoError(t, err)
			require.Less(t, newest.Size(), base.Size()/2, "version 6 does not refer to version 5")
			c.harm(t, n)
			require.Contains(t, n.job(t, c.levels, 8, none, delta...), c.restored)
		})
	}
}

// Losses of nodes, one after the other, under versions that refer to each other.
func TestLevelsDeltaLosses(t *testing.T) {
	for _, levels := range sample(t, []string{"partner", "xor", "rs"}, 1) {
		t.Run(levels, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.job(t, levels, 5, none, WithDelta(10))
			for node := range 4 {
				n.lose(t, node)
				if levels == "rs" {
					n.lose(t, (node+1)%4)
				}
				n.job(t, levels, 5, healed, WithDelta(10))
			}
			require.Contains(t, n.job(t, levels, 7, none, WithDelta(10)), "iteration=4")
		})
	}
}

// A version that is flushed takes with it what it refers to.
func TestLevelsDeltaFlush(t *testing.T) {
	for _, mode := range sample(t, modes, 1) {
		t.Run(mode, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.job(t, "partner", 3, none, WithDelta(10), WithAsync(AsyncMode(mode)))
			n.job(t, "partner", 6, flushedFirst, WithDelta(10), WithAsync(AsyncMode(mode)))
			n.lose(t, 0, 1, 2, 3)
			require.Contains(t, n.job(t, "", 7, none, WithDelta(10), WithAsync(AsyncMode(mode))), "iteration=5")
			require.Contains(t, n.job(t, "partner", 8, none, WithDelta(10), WithAsync(AsyncMode(mode))), "iteration=6")
		})
	}
}

// A level that the nodes do not allow does not make every version a full one.
func TestLevelsDeltaOfALevelThatIsNotPossible(t *testing.T) {
	for levels, of := range map[string][]int{"partner": {0, 0}, "local,rs:2": {0, 0, 1, 1}, "xor": {0, 1}, "local:1,partner:2,xor:3": {0, 0}} {
		t.Run(levels, func(t *testing.T) {
			n := newTestNodes(t, of...)
			n.job(t, levels, 6, none, WithDelta(10), WithKeep(6))
			full := make(map[int]int)
			for version := 1; version <= 6; version++ {
				info, err := os.Stat(one(t, n.files(t, version, "rank-00000")))
				require.NoError(t, err)
				full[version] = int(info.Size())
			}
			require.Less(t, full[5], full[1]/2)
			require.Less(t, full[6], full[1]/2)
			require.Contains(t, n.job(t, levels, 8, none, WithDelta(10)), "iteration=5")
		})
	}
}

// A node is lost that has parts of a chain of deltas, and the ranks are in other sets then:
// the parity of all versions of the chain is needed until their parts are back. When the
// newest versions go the one before is there.
func TestDeltaHealsInOtherSets(t *testing.T) {
	for _, levels := range []string{"xor:1", "rs:1"} {
		n := newTestNodes(t, 0, 1, 2, 3)
		n.job(t, levels, 6, none, WithDelta(100), WithKeep(4))
		n.lose(t, 2)
		n.of = []int{0, 1, 0, 3}
		log := n.job(t, levels, 6, func(_ context.Context, g *grid) error { g.cp.placement.Healed(); return nil }, WithDelta(100), WithKeep(4))
		require.Contains(t, log, "iteration=5")
		require.NotContains(t, log, "redundancy is not back")
		require.NotContains(t, log, "bytes of a part are wrong")
		for _, version := range []int{5, 6} {
			for _, file := range n.files(t, version, "") {
				require.NoError(t, os.Remove(file))
			}
		}
		require.Contains(t, n.job(t, levels, 6, none, WithDelta(100), WithKeep(4)), "iteration=3")
	}
}
