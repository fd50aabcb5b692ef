package placement

import (
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/internal/domain"
	"github.com/craft-go/craft/storage/manifest"
)

// nodes are those of the job, by number: in the order of their leaders. See numberNodes.
type nodes struct {
	me   comm.Rank
	list []manifest.Node // Ranks are ascending; the first one leads
	of   []int           // by rank
}

// at is the place of a rank's node in the catalog, here that of this rank's.
func (n *nodes) at(r comm.Rank) catalog.Place { return catalog.Place(n.of[r]) }
func (n *nodes) here() catalog.Place          { return n.at(n.me) }

// memory is that of this rank.
func (n *nodes) memory() catalog.Place { return catalog.MemoryOf(int(n.me)) }

// ofRanks are the nodes of all ranks.
func (n *nodes) ofRanks() (all []catalog.Place) {
	for r := range n.of {
		all = append(all, n.at(comm.Rank(r)))
	}
	return all
}

func (n *nodes) ranks() int { return len(n.of) }

// root reports that this rank speaks for all.
func (n *nodes) root() bool { return n.me == 0 }

// leader is the first rank of a node.
func (n *nodes) leader(of catalog.Place) comm.Rank { return comm.Rank(n.list[of].Ranks[0]) }

// leads reports whether this rank is the first one of its node.
func (n *nodes) leads() bool { return n.leader(n.here()) == n.me }

// ownPart is the part that this rank writes.
func (n *nodes) ownPart() storage.Part { return storage.Part{Rank: int(n.me), Size: n.ranks()} }

// hostOf is the rank that has a part on its node, which is at some places, or that is to
// get it there.
func (n *nodes) hostOf(part storage.Part, at []catalog.Place) comm.Rank {
	own := comm.Rank(part.Rank % n.ranks())
	if len(at) == 0 || slices.Contains(at, n.at(own)) {
		return own
	}
	return n.leader(at[0])
}

// places are for package domain.
func (n *nodes) places() []domain.Place {
	out := make([]domain.Place, len(n.of))
	for r, number := range n.of {
		out[r] = domain.Place{Node: number, Rack: n.list[number].Rack}
	}
	return out
}
