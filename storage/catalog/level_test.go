package catalog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testtime"
	"github.com/craft-go/craft/storage"
)

const manyNodes, onEach, versions = 400, 16, 6

// How safe the versions of a large job are is known at once: to look at each part
// for each node would take minutes here. The limit is for a hopeless machine.
func TestLossesOfManyNodes(t *testing.T) {
	for _, level := range []storage.Level{storage.Partner, storage.XOR} {
		c := largeJob(level)
		testtime.Within(t, 30*time.Second, func() {
			for version := range uint64(versions) {
				require.Equal(t, storage.LevelsOf(level), c.Kept(storage.ID{Version: version + 1}, manyNodes, 2).Reached)
			}
		})
	}
}

// largeJob is the catalog of one whose versions are at a level.
func largeJob(level storage.Level) *Catalog {
	c := New()
	const size = manyNodes * onEach
	for version := range uint64(versions) {
		id := storage.ID{Version: version + 1}
		c.SetFacts(id, Facts{Plan: storage.LevelsOf(level)})
		for rank := range size {
			n, part := Place(rank/onEach), storage.Part{Rank: rank, Size: size}
			c.AddPart(id, part, n)
			if level == storage.Partner {
				c.Add(storage.ObjectKey{ID: id, Kind: storage.KindCopy, Part: part}, (n+manyNodes/2)%manyNodes)
				continue
			}
			c.Add(storage.ObjectKey{ID: id, Kind: storage.KindParity, Part: part}, n)
			first := rank % (size / 4) // sets of four, far apart
			c.AddSet(id, Set{Ranks: []int{first, first + size/4, first + size/2, first + 3*size/4}, Size: size, Parity: 1, Holders: []int{rank}})
		}
	}
	return c
}

// BenchmarkKept is what a start of a large job does for each stored version.
func BenchmarkKept(b *testing.B) {
	c := largeJob(storage.XOR)
	for b.Loop() {
		c.Kept(storage.ID{Version: 6}, manyNodes, 2)
	}
}
