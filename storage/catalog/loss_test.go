package catalog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
)

// Whatever is where, what is said about a loss is what is found after the loss, in a
// catalog that never had what is lost.
func TestAfterIsWhatALossLeaves(t *testing.T) {
	rng := testseed.Rand(t)
	id, answers := storage.ID{Version: 1}, make(map[bool]int)
	for range 10_000 {
		nodes := 2 + rng.IntN(4)
		c := someCatalog(rng, id, nodes)
		want := c.Complete(id)
		for n := range Place(nodes) {
			requireSame(t, without(c, n).View, c.After(n), id)
			want = want && without(c, n).Complete(id)
		}
		require.Equal(t, want, c.SurvivesANode(id), "%+v", c)
		answers[want]++

		var all []Place
		for n := range Place(nodes) {
			all = append(all, n)
		}
		requireSame(t, without(c, Home).View, c.OnNodes(), id)
		requireSame(t, without(c, all...).View, c.HomeAlone(), id)
		two := []Place{Place(rng.IntN(nodes+1)) - 1, Place(rng.IntN(nodes+1)) - 1}
		requireSame(t, without(c, two...).View, c.After(two[0]).After(two[1]), id)
		requireSame(t, without(c, two...).View, c.After(two...), id)
	}
	t.Log(answers)
	require.Greater(t, min(answers[true], answers[false]), 500)
}

func someCatalog(rng *rand.Rand, id storage.ID, nodes int) *Catalog {
	ranks, c := 1+rng.IntN(8), New()
	often := func(kind storage.Kind, part storage.Part, percent, node int) {
		if rng.IntN(100) < percent {
			c.Add(storage.ObjectKey{ID: id, Kind: kind, Part: part}, Place(node))
		}
	}
	parts, copies, home := 50+rng.IntN(60), rng.IntN(120), rng.IntN(60)-20
	for rank := range ranks {
		part := storage.Part{Rank: rank, Size: ranks}
		often(storage.KindPart, part, parts, rank%nodes)
		often(storage.KindPart, part, 10, rng.IntN(nodes))
		often(storage.KindCopy, part, copies, (rank+1)%nodes)
		often(storage.KindPart, part, home, int(Home))
	}
	for range rng.IntN(3) {
		members := rng.Perm(ranks)[:min(ranks, 2+rng.IntN(3))]
		if len(members) < 2 {
			continue
		}
		for _, rank := range members {
			often(storage.KindParity, storage.Part{Rank: rank, Size: ranks}, 95, rank%nodes)
		}
		c.AddSet(id, Set{Ranks: members, Size: ranks, Parity: 1 + rng.IntN(len(members)-1), Holders: members[rng.IntN(2):]})
	}
	return c
}

// without is a catalog that never had what some places have.
func without(c *Catalog, lost ...Place) *Catalog {
	left := New()
	left.facts, left.sets = c.facts, c.sets
	for id, objects := range c.objects {
		for o, at := range objects {
			for _, p := range at {
				if !slices.Contains(lost, p) {
					left.Add(storage.ObjectKey{ID: id, Kind: o.kind, Part: o.part}, p)
				}
			}
		}
	}
	return left
}

func requireSame(t *testing.T, want, got View, id storage.ID) {
	t.Helper()
	entry := want.Entry(id)
	require.Equal(t, entry, got.Entry(id))
	for _, part := range entry.Parts {
		require.Equal(t, want.Sources(id, part, 1), got.Sources(id, part, 1), part)
	}
	require.Equal(t, want.Any(id), got.Any(id))
	require.Equal(t, want.SurvivesANode(id), got.SurvivesANode(id))
	require.Equal(t, want.NodesWith(id, storage.KindCopy, storage.KindParity), got.NodesWith(id, storage.KindCopy, storage.KindParity))
}

// What leaves the nodes is as if they had never had it; what is forgotten was never there.
func TestLeaveNodesAndForget(t *testing.T) {
	rng := testseed.Rand(t)
	id, other := storage.ID{Version: 1}, storage.ID{Version: 2}
	for range 1000 {
		nodes := 2 + rng.IntN(4)
		c := someCatalog(rng, id, nodes)
		c.AddPart(other, storage.Part{Rank: 0, Size: 1}, 0)
		home := c.HomeAlone().Entry(id)
		c.Leave(id, storage.TierNode)
		require.Equal(t, home, c.Entry(id))
		require.False(t, c.OnNodes().Any(id))
		c.Forget(id)
		require.Equal(t, []storage.ID{other}, c.IDs())
	}
}

// Places in the order in which they are tried.
func TestSources(t *testing.T) {
	id := storage.ID{Version: 1}
	of := func(kind storage.Kind, rank int) storage.ObjectKey {
		return storage.ObjectKey{ID: id, Kind: kind, Part: storage.Part{Rank: rank, Size: 3}}
	}
	own, copied, c := of(storage.KindPart, 0), of(storage.KindCopy, 0), New()
	c.Add(own, Home)
	c.Add(own, 0)
	c.Add(copied, 1)
	c.Add(copied, 2)
	require.Equal(t, []Source{{Key: copied, At: 2}, {Key: own, At: 0}, {Key: copied, At: 1}, {Key: own, At: Home}}, c.Sources(id, own.Part, 2))
	c.Add(of(storage.KindPart, 1), 1)
	c.Add(of(storage.KindPart, 2), Home)
	for rank, at := range []Place{0, 1, 2} {
		c.Add(of(storage.KindParity, rank), at)
		c.AddSet(id, Set{Ranks: []int{0, 1, 2}, Size: 3, Parity: 1, Holders: []int{rank}})
	}
	require.Equal(t, []Source{{Key: own, At: 0}, {Key: copied, At: 1}, {Key: copied, At: 2}, {Key: own, At: Home}, {Parity: true}}, c.Sources(id, own.Part, 0),
		"parity that needs the home comes behind it")
	c.Add(of(storage.KindPart, 2), 2)
	require.Equal(t, []Source{{Parity: true}, {Key: own, At: Home}}, c.Sources(id, own.Part, 0)[3:])
}

func TestLossStatus(t *testing.T) {
	id := func(version uint64) storage.ID { return storage.ID{Version: version} }
	part := func(rank int) storage.Part { return storage.Part{Rank: rank, Size: 2} }
	both := map[int][]Place{0: {0}, 1: {1}}
	for _, c := range []struct {
		what   string
		before Past
		with   func(c *Catalog)
		want   LossStatus
	}{
		{"nobody tells of it", Past{}, func(*Catalog) {}, Unclear},
		{"the manifest names it", Past{Newest: id(2)}, func(*Catalog) {}, Lost},
		{"or a later one", Past{Newest: id(3)}, func(*Catalog) {}, Lost},
		{"an earlier one says nothing", Past{Newest: id(1)}, func(*Catalog) {}, Unclear},
		{"its attempt went on", Past{}, func(c *Catalog) { c.AddPart(id(3), part(0), 0) }, Lost},
		{"its rank's node is here, and has others", Past{Ranks: both}, func(c *Catalog) { c.AddPart(id(1), part(1), 1) }, Interrupted},
		{"is here, and has nothing", Past{Ranks: both}, func(*Catalog) {}, Unclear},
		{"is not here", Past{Ranks: map[int][]Place{0: {0}, 1: {Gone}}}, func(c *Catalog) { c.AddPart(id(1), part(1), 1) }, Unclear},
		{"was on two nodes", Past{Ranks: map[int][]Place{0: {0}, 1: {1, Gone}}}, func(c *Catalog) { c.AddPart(id(1), part(1), 1) }, Unclear},
		{"it was not for nodes", Past{}, func(c *Catalog) { c.SetFacts(id(2), Facts{Plan: storage.LevelsOf(storage.PFS)}) }, Interrupted},
	} {
		cat := New()
		cat.AddPart(id(2), part(0), 0)
		c.with(cat)
		require.Equal(t, c.want, cat.LossStatus(id(2), c.before), c.what)
	}
}

// A name may speak of any number of ranks.
func TestMissingText(t *testing.T) {
	c, id := New(), storage.ID{Version: 1}
	require.Empty(t, c.MissingText(id))
	c.AddPart(id, storage.Part{Rank: 1, Size: 3}, 0)
	require.Equal(t, "0, 2", c.MissingText(id))
	require.Equal(t, "0 to 2", c.After(0).MissingText(id), "there is nothing of it, and it is known how many there were")
	require.Equal(t, 3, c.After(0).Size(id))
	huge := storage.ID{Version: 2}
	c.AddPart(huge, storage.Part{Rank: 0, Size: 1 << 31}, 0)
	require.Contains(t, c.MissingText(huge), fmt.Sprintf("and %d more", 1<<31-33))
}
