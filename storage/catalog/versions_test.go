package catalog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

func id(version uint64) storage.ID { return storage.ID{Version: version} }

func whole(version uint64) Kept {
	return Kept{Entry: storage.Entry{ID: id(version), Parts: []storage.Part{{Rank: 0, Size: 1}}}, Home: true}
}

func behind(outer uint64) container.Header {
	return container.Header{Ancestors: []container.Ancestor{{Name: "outer", Version: outer}}}
}

func TestVersions(t *testing.T) {
	var vs Versions
	require.Nil(t, vs.Newest())
	vs.Add(whole(1), container.Header{Iteration: 7})
	pending := whole(3)
	pending.Home, pending.Pending, pending.Reached = false, true, storage.LevelsOf(storage.Partner)
	vs.Add(pending, container.Header{Iteration: 9})
	require.Equal(t, id(3), vs.Newest().ID)
	require.Nil(t, vs.Find(id(2)))
	require.Nil(t, vs.CameHome(id(2)))
	require.EqualValues(t, 9, vs.CameHome(id(3)).Header.Iteration)
	require.True(t, vs.Find(id(3)).Home && !vs.Find(id(3)).Pending)

	vs.SetDamaged([]storage.ID{id(1), id(2)})
	vs.SetAside(id(3))
	vs.SetAside(id(3))
	require.Equal(t, []storage.ID{id(1), id(3)}, vs.Damaged(), "of those that are stored")
	vs.ReadBack(id(1), true)
	require.Equal(t, []storage.ID{id(3)}, vs.Damaged())

	// One that nobody wants for its own sake waits for one that refers to it.
	incomplete := Kept{Entry: storage.Entry{ID: id(6)}, Oldest: 4}
	vs.WaitFor(incomplete, true)
	vs.WaitFor(Kept{Entry: storage.Entry{ID: id(5)}}, false)
	vs.WaitFor(Kept{Entry: storage.Entry{ID: id(2)}}, false)
	require.True(t, vs.Has(id(6)) && vs.Has(id(5)) && vs.Has(id(4)) && !vs.Has(id(2)))
	require.Equal(t, []storage.ID{id(6), id(5)}, vs.Overtake())
	require.Empty(t, vs.Overtake())
	vs.Clear()
	require.Empty(t, vs.All())
}

// Pruning applies what Retention says: what goes from the nodes alone stays known.
func TestPruneForgets(t *testing.T) {
	var vs Versions
	for v := uint64(1); v <= 4; v++ {
		k := whole(v)
		k.Reached = storage.LevelsOf(storage.Local)
		k.Home = v == 2
		vs.Add(k, container.Header{})
	}
	require.Equal(t, Prunable{Everywhere: []storage.ID{id(1)}, Nodes: []storage.ID{id(2)}}, vs.Prune(2, []storage.Level{storage.Local}))
	require.Zero(t, vs.Find(id(2)).Reached)
	require.Empty(t, vs.Prune(2, []storage.Level{storage.Local}))
}

// Whatever is stored of whatever stages: of the present one stays what retention keeps, of
// those that a restart may come back to one, and of others none but the witness.
func TestPruneNestedAtRandom(t *testing.T) {
	rng := testseed.Rand(t)
	for range 3000 {
		var vs Versions
		stages, keep := 1+uint64(rng.IntN(4)), 1+rng.IntN(3)
		of := make(map[storage.ID]uint64)
		for v := uint64(1); v <= 1+rng.Uint64N(12); v++ {
			of[id(v)] = rng.Uint64N(stages)
			vs.Add(whole(v), behind(of[id(v)]))
		}
		reachable := make(map[uint64]bool)
		for s := range stages {
			reachable[s] = rng.IntN(2) == 0
		}
		now, witness := rng.Uint64N(stages), rng.IntN(2) == 0
		newest := vs.Newest().ID
		before := slices.Clone(vs.All())
		gone := vs.PruneNested(Nesting{
			Now: StageOf(behind(now).Ancestors), Witness: witness,
			Reachable: func(a []container.Ancestor) bool { return reachable[a[0].Version] },
		}, keep, nil)
		left := make(map[uint64][]storage.ID)
		for _, v := range vs.All() {
			left[of[v.ID]] = append(left[of[v.ID]], v.ID)
		}
		require.Len(t, before, len(vs.All())+len(gone.Everywhere))
		for s := range stages {
			want := wanted(before, of, s, now, keep, reachable[s], witness, newest)
			require.Equal(t, want, left[s], "stage %d of %v, now %d, keep %d", s, of, now, keep)
		}
	}
}

func wanted(all []Version, of map[storage.ID]uint64, stage, now uint64, keep int, reachable, witness bool, newest storage.ID) (left []storage.ID) {
	for _, v := range all {
		if of[v.ID] == stage {
			left = append(left, v.ID)
		}
	}
	switch {
	case stage == now:
	case reachable:
		keep = 1
	case witness && len(left) > 0 && left[len(left)-1] == newest:
		keep = 1
	default:
		return nil
	}
	return left[max(0, len(left)-keep):]
}

// A model of a job that writes, flushes, forgets and asks, against the plain way: the list
// is what was added and not taken out, in order.
func TestVersionsAgainstAList(t *testing.T) {
	rng := testseed.Rand(t)
	for range 300 {
		var vs Versions
		var list []storage.ID
		for v := uint64(1); v < 40; v++ {
			k := whole(v)
			k.Reached = []storage.Levels{0, storage.LevelsOf(storage.Local), storage.LevelsOf(storage.RS)}[rng.IntN(3)]
			k.Home = k.Reached == 0 || rng.IntN(3) == 0
			vs.Add(k, container.Header{})
			list = append(list, k.ID)
			if rng.IntN(3) == 0 {
				vs.SetAside(list[rng.IntN(len(list))])
			}
			gone := vs.Prune(1+rng.IntN(4), someOf(rng, storage.Local, storage.RS))
			list = slices.DeleteFunc(list, func(one storage.ID) bool { return slices.Contains(gone.Everywhere, one) })
			require.Equal(t, list, ids(vs.All()), fmt.Sprint(gone))
			require.Equal(t, list[len(list)-1], vs.Newest().ID, "what was written last stays")
		}
	}
}

func ids(all []Version) (out []storage.ID) {
	for _, v := range all {
		out = append(out, v.ID)
	}
	return out
}

func someOf(rng *rand.Rand, levels ...storage.Level) (some []storage.Level) {
	for _, l := range levels {
		if rng.IntN(2) == 0 {
			some = append(some, l)
		}
	}
	return some
}
