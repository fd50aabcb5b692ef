package checkpoint

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/storagetest"
)

func flushedFirst(ctx context.Context, g *grid) error { return g.cp.Flush(ctx) }

// eightOnFour is the shape that the versions of these tests are written with.
var eightOnFour = []int{0, 0, 1, 1, 2, 2, 3, 3}

// Ranks that are on other nodes than before, and others in number, find the
// newest version wherever it is.
func TestLevelsOtherShapes(t *testing.T) {
	type shape struct {
		name string
		of   []int
		lost int // unless the level is local
	}
	type change struct {
		levels string
		shape
	}
	var changes []change
	for _, levels := range []string{"local", "partner", "xor", "rs"} {
		for _, s := range []shape{
			{"reversed", []int{3, 3, 2, 2, 1, 1, 0, 0}, 1},
			{"round robin", []int{0, 1, 2, 3, 0, 1, 2, 3}, 0},
			{"uneven", []int{2, 2, 2, 2, 2, 0, 1, 3}, 3},
			{"fewer ranks", []int{3, 1, 0, 2, 2}, 2},
			{"one for each node", []int{1, 0, 3, 2}, 0},
			{"more ranks", []int{3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0}, 2},
			{"a node more", []int{4, 4, 0, 0, 1, 1, 2, 2, 3, 3}, 3},
		} {
			changes = append(changes, change{levels, s})
		}
	}
	for _, c := range sample(t, changes, 3) {
		t.Run(c.levels+" "+c.name, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.job(t, c.levels, 5, none)
			if c.levels != "local" {
				n.lose(t, c.lost)
			}
			n.of = c.of
			require.Contains(t, n.job(t, c.levels, 7, none), "iteration=4")
			// And from there, back to what it was.
			n.of = eightOnFour
			if c.name != "a node more" {
				require.Contains(t, n.job(t, c.levels, 9, none), "iteration=6")
			}
		})
	}
}

// A job without one of the nodes goes on without it, by what the others have.
func TestLevelsFewerNodes(t *testing.T) {
	for _, c := range sample(t, []struct {
		levels string
		of     []int
	}{
		{"partner", []int{3, 3, 1, 1, 0, 0}},
		{"xor", []int{3, 1, 0}},
		{"rs", []int{2, 2, 3}},
	}, 1) {
		t.Run(c.levels, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.job(t, c.levels, 5, none)
			n.of = c.of
			require.Contains(t, n.job(t, c.levels, 7, none), "iteration=4")
		})
	}
}

// Other nodes have nothing: what was flushed is used, and what is missing is said.
func TestLevelsOtherNodes(t *testing.T) {
	n := newTestNodes(t, eightOnFour...)
	n.job(t, "partner", 3, flushedFirst)
	n.job(t, "partner", 5, none)
	n.of = []int{4, 4, 5, 5, 6, 6, 7, 7}
	log := n.job(t, "partner", 6, none)
	require.Contains(t, log, "iteration=2")
	require.Contains(t, log, "cannot be had any more")
	require.Contains(t, log, n.node(0), "the nodes that have it are not named")

	n = newTestNodes(t, eightOnFour...)
	n.job(t, "partner", 5, none)
	n.of = []int{4, 4, 5, 5, 6, 6, 7, 7}
	before := everythingIn(t, n.dir)
	_, err := n.try(t, "partner", 6, none)
	require.ErrorIs(t, err, ErrNoUsableVersion)
	require.ErrorContains(t, err, n.node(2))
	unchanged(t, n.dir, before, "LOCK")
	n.of = eightOnFour
	require.Contains(t, n.job(t, "partner", 7, none), "iteration=4")
}

// A run without levels uses what was flushed and says what is only on the nodes.
// Its versions are newer than those on the nodes, which a later run with levels
// does not go back to.
func TestLevelsSwitchedOff(t *testing.T) {
	ofData(t)
	off := map[string][]Option{
		"no levels":     {withLevels("")},
		"CRAFT_USE_SCR": {func(o *options) { o.UseSCR = false }},
	}
	for name, opts := range off {
		t.Run("flushed, "+name, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.job(t, "partner", 5, flushedFirst)
			log := n.job(t, "partner", 6, none, opts...)
			require.Contains(t, log, "iteration=4")
			require.NotContains(t, log, "only on the nodes")
			require.Contains(t, n.job(t, "partner", 7, none), "iteration=5")
		})
		t.Run("an older one flushed, "+name, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.job(t, "partner", 3, flushedFirst)
			n.job(t, "partner", 5, none)
			log := n.job(t, "partner", 4, none, opts...)
			require.Contains(t, log, "iteration=2")
			require.Contains(t, log, "is only on the nodes")
			require.Contains(t, log, n.node(2))
			require.Contains(t, n.job(t, "partner", 6, none), "iteration=3", "it has gone back to what the nodes had before")
		})
		t.Run("none flushed, "+name, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.job(t, "partner", 5, none)
			_, err := n.try(t, "partner", 6, none, opts...)
			require.ErrorIs(t, err, ErrNoUsableVersion)
			require.ErrorContains(t, err, "is only on the nodes")
			require.ErrorContains(t, err, "CRAFT_LEVELS=partner:1")
			require.Contains(t, n.job(t, "partner", 7, none), "iteration=4")
		})
		t.Run("from zero, "+name, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.job(t, "partner", 5, none)
			log := n.job(t, "partner", 2, none, append([]Option{WithReadOnRestart(false)}, opts...)...)
			require.NotContains(t, log, "msg=restored")
			// The new lineage is the newest one, also for a run with levels.
			require.Contains(t, n.job(t, "partner", 4, none), "iteration=1")
		})
	}
}

// Whatever the levels were, those of the next job read it.
func TestLevelsOtherLevels(t *testing.T) {
	all := []string{"local", "local,pfs"}
	for _, l := range storagetest.Protecting() {
		all = append(all, l.String())
	}
	type change struct{ first, second string }
	var changes []change
	for _, first := range all {
		for _, second := range all {
			changes = append(changes, change{first, second})
		}
	}
	for _, c := range sample(t, changes, 3) {
		t.Run(c.first+" "+c.second, func(t *testing.T) {
			n := newTestNodes(t, eightOnFour...)
			n.job(t, c.first, 5, none)
			if c.first != "local" && c.first != "local,pfs" {
				n.lose(t, 1)
			}
			require.Contains(t, n.job(t, c.second, 7, none), "iteration=4")
		})
	}
}

// Jobs of many shapes and levels, one after the other, with losses in between
// that the level of the one before survives.
func TestLevelsChangingShapes(t *testing.T) {
	rng := testseed.Rand(t)
	n := newTestNodes(t)
	until, rounds := 0, max(25/underRace(), 5)
	for round := range rounds {
		n.of = n.of[:0]
		for i := range 4 { // each node has a rank at least
			n.of = append(n.of, i)
		}
		for range rng.IntN(6) {
			n.of = append(n.of, rng.IntN(4))
		}
		rng.Shuffle(len(n.of), func(i, j int) { n.of[i], n.of[j] = n.of[j], n.of[i] })
		levels := []string{"local", "partner", "xor", "rs", "local,partner:2", "partner,rs:3,pfs:2", "volatile,partner:2"}[rng.IntN(7)]
		mode := modes[rng.IntN(len(modes))]
		what := fmt.Sprintf("round %d: ranks on nodes %v, %s, %s", round, n.of, levels, mode)
		safe, next := false, until+1+rng.IntN(3)
		log, err := n.try(t, levels, next, func(_ context.Context, g *grid) error {
			if g.c.Rank() == 0 {
				stored := g.cp.Stored()
				safe = stored[len(stored)-1].Level.Covers(storage.Partner)
			}
			return nil
		}, WithAsync(AsyncMode(mode)))
		require.NoError(t, err, "%s\n%s", what, log)
		if round > 0 {
			require.Contains(t, log, fmt.Sprintf("iteration=%d ", until-1), what)
		}
		until = next
		if safe && rng.IntN(2) == 0 {
			n.lose(t, rng.IntN(4))
		}
	}
}

// Many ranks on few nodes: a value that is spread over all parts makes each rank
// open all of them, and more of them on one node than there may be streams to it.
func TestLevelsManyRanksOnANode(t *testing.T) {
	nodes := 3
	if underRace() > 2 {
		nodes = 2
	}
	for _, levels := range []string{"local", "xor"} {
		var of []int
		for rank := range 12 * nodes {
			of = append(of, rank/12)
		}
		n := newTestNodes(t, of...)
		n.job(t, levels, 3, none, WithDelta(5))
		if levels == "xor" {
			n.lose(t, 1)
		}
		require.Contains(t, n.job(t, levels, 4, none, WithDelta(5)), "iteration=2")
	}
}

// A node is absent: an older version is used, and the advice that is given then can
// be followed. It holds until there is a newer version of the run without it.
func TestLevelsAbsentNodeComesBack(t *testing.T) {
	for _, delta := range sample(t, []bool{false, true}, 1) {
		t.Run(fmt.Sprint("delta ", delta), func(t *testing.T) {
			opts := []Option{WithKeep(1)}
			if delta {
				opts = append(opts, WithDelta(10))
			}
			n := newTestNodes(t, 0, 0, 1, 1)
			n.job(t, "local", 3, flushedFirst, opts...)
			n.job(t, "local", 6, none, opts...)
			absent := func(until int, final func(context.Context, *grid) error) string {
				n.of = []int{0, 0, 2, 2}
				defer func() { n.of = []int{0, 0, 1, 1} }()
				return n.job(t, "local", until, final, opts...)
			}
			for range 2 {
				// Nothing is deleted, whatever is done short of a new version.
				log := absent(0, func(ctx context.Context, g *grid) error { return g.cp.Flush(ctx) })
				require.Contains(t, log, "a version cannot be restored")
				require.Contains(t, log, "not in this job")
				require.Contains(t, log, "iteration=2")
			}
			require.Contains(t, n.job(t, "local", 0, none, opts...), "iteration=5")

			absent(5, none) // versions 7 and 8 are of iterations 3 and 4
			require.Empty(t, n.files(t, 6, "rank-00000"), "it is kept although there is a newer one")
			require.Len(t, n.files(t, 6, "rank-00002"), 1)
			for _, of := range [][]int{{0, 0, 2, 2}, {0, 1, 2, 2}} {
				n.of = of
				require.Contains(t, n.job(t, "local", 0, none, opts...), "version=8 iteration=4")
			}
		})
	}
}

// The numbers of versions go on behind those that nobody can read now: a version
// that comes back does not win over the newer ones of the run without it.
func TestLevelsNumbersGoOnBehindAbsentNodes(t *testing.T) {
	n := newTestNodes(t, 0, 0, 1, 1)
	n.job(t, "local", 3, flushedFirst)
	n.job(t, "local", 5, none, WithKeep(3)) // version 3 is still on the nodes
	n.of = []int{0, 0, 2, 2}
	require.Contains(t, n.job(t, "local", 0, none), "version=3 iteration=2")
	n.of = []int{3, 3, 4, 4} // none of those that have version 5
	require.Contains(t, n.job(t, "local", 4, none), "version=3 iteration=2")
	n.of = []int{0, 1, 3, 4}
	require.Contains(t, n.job(t, "local", 0, none), "version=6 iteration=3")
}

// What waits for a node does so with all that it refers to, even if that is older
// than what is used meanwhile.
func TestLevelsAbsentNodeDelta(t *testing.T) {
	levels, opts := "local:1,partner:4", []Option{WithDelta(10), WithKeep(1)}
	n := newTestNodes(t, 0, 1, 2)
	n.job(t, levels, 9, none, opts...) // version 8 has a copy, 9 refers to 1 to 7
	n.of = []int{0, 3, 2}
	require.Contains(t, n.job(t, levels, 0, none, opts...), "version=8 iteration=7")
	for version := 1; version <= 9; version++ {
		require.NotEmpty(t, n.files(t, version, "rank-00000"), "version %d", version)
	}
	n.job(t, levels, 9, none, opts...)
	for version := 1; version <= 9; version++ {
		if version%4 != 0 {
			require.Empty(t, n.files(t, version, "rank-00000"), "version %d", version)
		}
	}
}

// What is kept for a node that is absent does not stay for ever where the new
// versions are less safe than planned, but until one is not.
func TestLevelsAbsentNodeWhileVersionsAreWeak(t *testing.T) {
	n := newTestNodes(t, 0, 1, 2)
	var broken atomic.Bool
	weak := func(o *options) {
		o.nodeFS = vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
			if broken.Load() && strings.Contains(op.Path, ".copy-") {
				return syscall.EIO
			}
			return nil
		})
	}
	n.job(t, "partner", 3, flushedFirst)
	n.job(t, "partner", 5, none)
	n.of = []int{3, 4, 2}
	broken.Store(true)
	log := n.job(t, "partner", 5, none, weak)
	require.Contains(t, log, "not protected as planned")
	require.NotEmpty(t, n.files(t, 5, "rank-00002"))
	broken.Store(false)
	n.of = []int{3, 4, 2}
	n.job(t, "partner", 6, none, weak)
	require.Empty(t, n.files(t, 4, "rank-00002"))
	require.Empty(t, n.files(t, 5, "rank-00002"))
}

// What a kill has interrupted is not told as a loss, and a loss is.
func TestLevelsInterruptedOrLost(t *testing.T) {
	// killed is a job that has not come to say that version 5 is complete.
	killed := func(t *testing.T) *testNodes {
		n := newTestNodes(t, 0, 0, 1, 1)
		n.job(t, "local", 3, flushedFirst)
		n.killed(t, "local", 5, none)
		require.Contains(t, n.manifest(t).Newest.Directory, "v-000004")
		n.removeMetadata(t, filestore.RecordPrefix+"*")
		return n
	}
	without := func(t *testing.T, n *testNodes, version int, names ...string) {
		for _, name := range names {
			require.NoError(t, os.Remove(one(t, n.files(t, version, name))))
		}
	}

	n := killed(t)
	without(t, n, 5, "rank-00001", "rank-00002", "rank-00003")
	log := n.job(t, "local", 0, none)
	require.Contains(t, log, "level=INFO msg=\"incomplete version of an interrupted write is not used\"")
	require.Contains(t, log, "iteration=3")
	require.NotContains(t, log, "WARN")
	require.Empty(t, n.files(t, 5, ""), "what can never be complete is kept")

	n = killed(t) // it may have been complete
	n.lose(t, 1)
	log = n.job(t, "local", 0, none)
	require.Contains(t, log, "level=WARN msg=\"a version cannot be restored: it has lost parts, or its write was interrupted\" checkpoint=grid rank=0 version=5")
	require.Contains(t, log, "level=WARN msg=\"a version cannot be restored\" checkpoint=grid rank=0 version=4")
	require.Contains(t, log, "iteration=2")
	require.NotEmpty(t, n.files(t, 5, ""))

	n = killed(t) // it was complete: there is a newer one
	without(t, n, 4, "rank-00001")
	without(t, n, 5, "rank-00001", "rank-00002", "rank-00003")
	log = n.job(t, "local", 0, none)
	require.Contains(t, log, "level=WARN msg=\"a version cannot be restored\" checkpoint=grid rank=0 version=4")

	n = killed(t) // an old one of which a kill has left something
	without(t, n, 4, "rank-00001")
	log = n.job(t, "local", 0, none)
	require.Contains(t, log, "iteration=4")
	require.NotContains(t, log, "WARN")
	require.Empty(t, n.files(t, 4, ""))
}
