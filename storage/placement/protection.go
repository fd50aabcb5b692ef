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

// lackOf says which ranks are to have a part in memory and do not, and which rank is to give it to them: the one whose
// part it is or, where another number of ranks has written it, the first one that has it.
func (p protection) lackOf(v catalog.View, n *nodes, id storage.ID, part storage.Part) (giver int, lack []int) {
	if part.Size != n.ranks() {
		return p.spread(n, part, ranksWith(v, id, part))
	}
	for k, holder := range p.holders[part.Rank] {
		if !slices.Contains(catalog.Memories(v, inMemory(id, part.Rank, part.Size, k)), catalog.MemoryOf(holder)) {
			lack = append(lack, holder)
		}
	}
	return part.Rank, lack
}

// spread chooses who is to get a copy beside those who have one, ascending, until there are as many as a part of these
// ranks has: on nodes apart if these are, and about as far from the giver as copies of its own part. The parts that had the
// same holders have the same giver: they go to ranks next to each other, so that none gets them all.
func (p protection) spread(n *nodes, part storage.Part, have []int) (giver int, lack []int) {
	if len(have) == 0 || p.holders == nil {
		return -1, nil
	}
	apart := func(rank int) int { return rank }
	if p.reach.Survives.Nodes > 0 {
		apart = func(rank int) int { return n.of[rank] }
	}
	used := make(map[int]bool)
	for _, rank := range have {
		used[apart(rank)] = true
	}
	giver, copies := have[0], len(p.holders[0])
	others := part.Rank * copies / part.Size // that are before this one
	for k := range copies * n.ranks() {
		if len(used) >= copies {
			break
		}
		rank := (giver + n.ranks()/copies + k) % n.ranks()
		switch {
		case used[apart(rank)]:
		case others > 0:
			others--
		default:
			used[apart(rank)] = true
			lack = append(lack, rank)
		}
	}
	return giver, lack
}

// ranksWith are those that have a part in memory, ascending.
func ranksWith(v catalog.View, id storage.ID, part storage.Part) (ranks []int) {
	for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy} {
		for _, at := range catalog.Memories(v, storage.ObjectKey{ID: id, Kind: kind, Part: part}) {
			if rank, ok := at.Rank(); ok {
				ranks = append(ranks, rank)
			}
		}
	}
	slices.Sort(ranks)
	return slices.Compact(ranks)
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
		return !slices.ContainsFunc(v.Entry(id).Parts, func(part storage.Part) bool {
			giver, lack := p.lackOf(v, n, id, part)
			return giver == me && len(lack) > 0
		})
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
