package catalog

import (
	"slices"

	"github.com/craft-go/craft/storage"
)

// Place is the number of a node, Home, or the memory of a rank.
type Place int

// Home is the parallel file system.
const Home Place = -1

// Gone is the place of a node that is not here.
const Gone Place = -2

// firstMemory is the memory of rank 0: behind all nodes.
const firstMemory Place = 1 << 24

// MemoryOf is the memory of a rank of this job. It is lost with its process.
func MemoryOf(rank int) Place { return firstMemory + Place(rank) }

// Rank is the one whose memory it is; ok is false if it is none.
func (p Place) Rank() (rank int, ok bool) { return int(p - firstMemory), p >= firstMemory }

// tier is that of what is at a place.
func (p Place) tier() storage.Tier {
	switch {
	case p >= firstMemory:
		return storage.TierMemory
	case p == Home:
		return storage.TierHome
	}
	return storage.TierNode
}

// nodeOf is the node with which a place is lost, by the nodes of the ranks.
func nodeOf(ranks []Place, p Place) Place {
	if rank, ok := p.Rank(); ok && rank < len(ranks) {
		return ranks[rank]
	}
	return p
}

// only are, of some places in order, those on a tier.
func only(at []Place, t storage.Tier) []Place {
	from := slices.IndexFunc(at, func(p Place) bool { return p.tier() == t })
	if from < 0 {
		return nil
	}
	at = at[from:]
	if to := slices.IndexFunc(at, func(p Place) bool { return p.tier() != t }); to >= 0 {
		at = at[:to:to]
	}
	return at
}
