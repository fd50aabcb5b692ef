package stack

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/testtime"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/nodelocal"
)

// afterLoss is the inventory without a node, the plain way.
func (v *inventory) afterLoss(node int) *inventory {
	left := newInventory()
	left.home, left.info, left.sets = v.home, v.info, v.sets
	for _, objects := range v.objects {
		for key, at := range objects {
			for _, n := range at {
				if n != node {
					left.add(key, n)
				}
			}
		}
	}
	return &left
}

// Whatever is where, what is said about the loss of nodes is what is found after
// the loss.
func TestSurvivesLossIsWhatALossShows(t *testing.T) {
	rng := testseed.Rand(t)
	id, answers := storage.ID{Version: 1}, make(map[bool]int)
	for range 20_000 {
		nodes, ranks := 2+rng.IntN(4), 1+rng.IntN(8)
		v := newInventory()
		often := func(kind nodelocal.Kind, part storage.Part, percent, node int) {
			if rng.IntN(100) < percent {
				v.add(nodelocal.Key{ID: id, Kind: kind, Part: part}, node)
			}
		}
		parts, copies, home := 50+rng.IntN(60), rng.IntN(120), rng.IntN(60)-20
		for rank := range ranks {
			part := storage.Part{Rank: rank, Size: ranks}
			often(nodelocal.KindPart, part, parts, rank%nodes)
			often(nodelocal.KindPart, part, 10, rng.IntN(nodes))
			often(nodelocal.KindCopy, part, copies, (rank+1)%nodes)
			if rng.IntN(100) < home {
				v.addHome(id, part)
			}
		}
		for range rng.IntN(3) {
			members := rng.Perm(ranks)[:min(ranks, 2+rng.IntN(3))]
			if len(members) < 2 {
				continue
			}
			for _, rank := range members {
				often(nodelocal.KindParity, storage.Part{Rank: rank, Size: ranks}, 95, rank%nodes)
			}
			v.addSet(id, set{Ranks: members, Size: ranks, Parity: 1 + rng.IntN(len(members)-1), Holders: members[rng.IntN(2):]})
		}
		want := v.complete(id)
		for n := 0; want && n < nodes; n++ {
			want = v.afterLoss(n).complete(id)
		}
		require.Equal(t, want, v.survivesLoss(id), "%+v", v)
		answers[want]++
	}
	t.Log(answers)
	require.Greater(t, min(answers[true], answers[false]), 1000)
}

// How safe the versions of a large job are is known at once: to look at each part
// for each node would take minutes here. The limit is for a hopeless machine.
func TestLossesOfManyNodes(t *testing.T) {
	const manyNodes, onEach, versions = 400, 16, 6
	for _, level := range []storage.Level{storage.Partner, storage.XOR} {
		s := manyNodesStack(level, manyNodes, onEach, versions)
		testtime.Within(t, 30*time.Second, func() {
			for version := range uint64(versions) {
				id := storage.ID{Version: version + 1}
				require.Equal(t, storage.LevelsOf(storage.Local, level), s.Kept(id).Reached)
				require.False(t, s.needsHealing(id))
			}
		})
	}
}

// manyNodesStack is a stack after a survey that has found versions at a level.
func manyNodesStack(level storage.Level, manyNodes, onEach, versions int) *Stack {
	s := &Stack{inv: newInventory(), schemes: map[storage.Level]Scheme{level: nil}}
	for n := range manyNodes {
		var ranks []comm.Rank
		for range onEach {
			ranks = append(ranks, comm.Rank(len(s.nodes.of)))
			s.nodes.of = append(s.nodes.of, n)
		}
		s.nodes.list = append(s.nodes.list, node{Ranks: ranks})
	}
	size := len(s.nodes.of)
	for version := range versions {
		id := storage.ID{Version: uint64(version + 1)}
		s.inv.info[id] = info{Plan: storage.LevelsOf(level)}
		for rank, n := range s.nodes.of {
			part := storage.Part{Rank: rank, Size: size}
			s.inv.add(nodelocal.Key{ID: id, Kind: nodelocal.KindPart, Part: part}, n)
			if level.Redundancy == storage.Copies {
				s.inv.add(nodelocal.Key{ID: id, Kind: nodelocal.KindCopy, Part: part}, (n+manyNodes/2)%manyNodes)
				continue
			}
			s.inv.add(nodelocal.Key{ID: id, Kind: nodelocal.KindParity, Part: part}, n)
			first := rank % (size / 4) // sets of four, far apart
			s.inv.addSet(id, set{Ranks: []int{first, first + size/4, first + size/2, first + 3*size/4}, Size: size, Parity: 1, Holders: []int{rank}})
		}
	}
	return s
}

// BenchmarkKept is what a start of a large job does for each stored version.
func BenchmarkKept(b *testing.B) {
	s := manyNodesStack(storage.XOR, 400, 16, 6)
	for b.Loop() {
		s.Kept(storage.ID{Version: 6})
	}
}
