package placement

import (
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/internal/domain"
)

// protection is what protects the versions of a level. All ranks know of all which of them
// hold it.
type protection struct {
	reach    storage.Level // that it stands for
	partners []int         // by rank: who has its copy
	holders  [][]int       // by rank: who has its part in memory, itself first
	sets     []domain.Set
	parity   int
	scheme   Scheme // makes it; nil: nothing is to be made
}

// enter notes what protects a version.
func (p protection) enter(c *catalog.Catalog, n *nodes, id storage.ID, size int) {
	add := func(kind storage.Kind, rank, holder int) {
		c.Add(storage.ObjectKey{ID: id, Kind: kind, Part: storage.Part{Rank: rank, Size: size}}, n.at(comm.Rank(holder)))
	}
	for rank, holder := range p.partners {
		add(storage.KindCopy, rank, holder)
	}
	for rank, holders := range p.holders {
		for k, holder := range holders {
			c.Add(inMemory(id, rank, size, k), catalog.MemoryOf(holder))
		}
	}
	for _, members := range p.sets {
		for _, rank := range members.Members {
			add(storage.KindParity, rank, rank)
		}
		set := catalog.Set{Ranks: members.Members, Size: size, Parity: p.parity, Holders: members.Members}
		c.AddSet(id, set, func(rank int) catalog.Place { return n.at(comm.Rank(rank)) })
	}
}

// inMemory is the object that holder k of a rank's part has in memory.
func inMemory(id storage.ID, rank, size, k int) storage.ObjectKey {
	key := catalog.PartOf(id, storage.Part{Rank: rank, Size: size})
	if k > 0 {
		key.Kind = storage.KindCopy
	}
	return key
}

// inMemoryOf reports whether all who are to have a rank's part in memory do.
func (p protection) inMemoryOf(v catalog.View, n *nodes, id storage.ID, rank int) bool {
	for k, holder := range p.holders[rank] {
		if !slices.Contains(catalog.Memories(v, inMemory(id, rank, n.ranks(), k)), catalog.MemoryOf(holder)) {
			return false
		}
	}
	return true
}

// intact reports whether what would be made anew to protect this rank's part of a version is
// where it would be. Parity is made by all members of a set together: all find the same.
func (p protection) intact(v catalog.View, n *nodes, id storage.ID) bool {
	has := func(kind storage.Kind, rank, holder int) bool {
		key := storage.ObjectKey{ID: id, Kind: kind, Part: storage.Part{Rank: rank, Size: n.ranks()}}
		return slices.Contains(v.Nodes(key), n.at(comm.Rank(holder)))
	}
	me := int(n.me)
	if p.holders != nil {
		return p.inMemoryOf(v, n, id, me)
	}
	if p.partners != nil {
		return has(storage.KindCopy, me, p.partners[me])
	}
	i := slices.IndexFunc(p.sets, func(s domain.Set) bool { return slices.Contains(s.Members, me) })
	if i < 0 {
		return false
	}
	members := p.sets[i].Members
	at := slices.IndexFunc(v.Sets(id), func(s catalog.Set) bool {
		return s.Size == n.ranks() && s.Parity == p.parity && slices.Equal(s.Ranks, members)
	})
	return at >= 0 && !slices.ContainsFunc(members, func(rank int) bool {
		return !has(storage.KindPart, rank, rank) || !catalog.Holds(v, id, at, rank, n.at(comm.Rank(rank)))
	})
}
