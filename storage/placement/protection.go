package placement

import (
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/domain"
)

// protection says which ranks hold what protects the versions of a level. All ranks
// know it of all.
type protection struct {
	partners []int // by rank: who has its copy
	sets     []domain.Set
	parity   int
}

// enter notes what protects a version.
func (p protection) enter(c *catalog.Catalog, n *nodes, id storage.ID, size int) {
	for rank, holder := range p.partners {
		key := storage.ObjectKey{ID: id, Kind: storage.KindCopy, Part: storage.Part{Rank: rank, Size: size}}
		c.Add(key, n.at(comm.Rank(holder)))
	}
	for _, members := range p.sets {
		for _, rank := range members.Members {
			key := storage.ObjectKey{ID: id, Kind: storage.KindParity, Part: storage.Part{Rank: rank, Size: size}}
			c.Add(key, n.at(comm.Rank(rank)))
		}
		c.AddSet(id, catalog.Set{Ranks: members.Members, Size: size, Parity: p.parity, Holders: members.Members})
	}
}
