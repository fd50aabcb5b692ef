package catalog

import (
	"slices"

	"github.com/craft-go/craft/storage"
)

// Retention decides which versions may be deleted (docs/architecture.md,
// "Retention"). It is a pure function of what is known of them.
type Retention struct {
	// Keep is the number of newest complete versions that stay, at least 1.
	Keep int
	// Verified is the newest version that was read back with its checksums; it
	// stays however old it is. The zero ID: none.
	Verified storage.ID
	// Damaged are complete versions that turned out not to be readable. They do
	// not count among the Keep newest.
	Damaged []storage.ID
	// Passed are those that a way back has passed over: they are not gone on from. They do not count
	// among the Keep newest either, so that they stay until what is gone on from has as many.
	Passed []storage.ID
	// Marks keep versions, and what these refer to, whatever else holds. Of those marked none
	// counts among the Keep newest.
	Marks []storage.Mark
}

// Kept is a version on several levels, as Retention sees it.
type Kept struct {
	storage.Entry
	// Reached are the levels below the parallel file system that it has; none: it is not there.
	Reached storage.Levels
	// Home: the parallel file system has all of it.
	Home bool
	// Pending: it is to be copied there, and is not there yet.
	Pending bool
	// Volatile: nothing of it is in a file; what is lost of it never comes back.
	Volatile bool
	// Oldest is the number of the oldest version of the same attempt that it
	// refers to; 0: none.
	Oldest uint64
}

// apart reports whether a version needs no file that a newer one needs.
func (k Kept) apart(newer Kept) bool {
	oldest := newer.Oldest
	if oldest == 0 {
		oldest = newer.ID.Version
	}
	return k.ID.Attempt != newer.ID.Attempt || k.ID.Version < oldest
}

// Prunable is what may be deleted.
type Prunable struct {
	Everywhere []storage.ID
	Nodes      []storage.ID // on the nodes only: the parallel file system keeps it
	Memory     []storage.ID // in memory alone, which no file is touched for
}

// Prunable says what may go of versions that are on the nodes and on the parallel file system.
// Only versions older than the Keep-th newest complete one go, whether they are complete
// themselves or not. Of these stay: of each level the Keep newest complete ones whose levels
// cover it and, if Keep is 2 or more, one that needs no byte of what the newest of them needs;
// of what is yet to be copied the oldest and the Keep newest, on the nodes; the newest verified
// one; those with a mark; and what all these refer to. levels are those that the nodes are to have.
//
// Of what is in memory alone only the newest stays, and only as long as nothing newer is in memory;
// of what is in files as well the newest that survives as much as a level in memory does.
func (r Retention) Prunable(levels []storage.Level, versions []Kept) (w Prunable) {
	good := r.good(versions)
	w.Memory = overtakenInMemory(good)
	inFiles := func(list []Kept) []Kept {
		return slices.DeleteFunc(slices.Clone(list), func(v Kept) bool { return v.Volatile })
	}
	good, versions = r.counting(inFiles(good)), inFiles(versions)
	keep := max(r.Keep, 1)
	if len(good) < keep {
		return w
	}
	floor := good[keep-1].ID.Version
	onNodes, atHome := r.wanted(levels, good)
	for _, v := range versions {
		switch {
		case !r.marked(v.ID):
		case v.Home:
			atHome[v.ID] = true
		default:
			onNodes[v.ID] = true
		}
	}
	addReferenced(onNodes, versions)
	addReferenced(atHome, versions)
	for _, v := range versions {
		switch {
		case onNodes[v.ID], v.ID.Version >= floor:
		case atHome[v.ID] && !v.Home: // one that is there refers to it
		case atHome[v.ID]:
			if v.Reached.On(storage.TierNode) != 0 {
				w.Nodes = append(w.Nodes, v.ID)
			}
		default:
			w.Everywhere = append(w.Everywhere, v.ID)
		}
	}
	return w
}

// overtakenInMemory are, of versions given newest first, those in memory alone that are older than
// another one in memory.
func overtakenInMemory(good []Kept) (ids []storage.ID) {
	newer := false
	for _, v := range good {
		if v.Volatile && newer {
			ids = append(ids, v.ID)
		}
		newer = newer || v.Reached.On(storage.TierMemory) != 0
	}
	return ids
}

// good are the versions that count, newest first.
func (r Retention) good(versions []Kept) (good []Kept) {
	for _, v := range versions {
		if v.Complete() && !slices.Contains(r.Damaged, v.ID) {
			good = append(good, v)
		}
	}
	slices.SortFunc(good, func(a, b Kept) int { return b.ID.Compare(a.ID) })
	return good
}

// counting are those of them that count among the Keep newest.
func (r Retention) counting(good []Kept) []Kept {
	return slices.DeleteFunc(good, func(v Kept) bool { return slices.Contains(r.Passed, v.ID) || r.marked(v.ID) })
}

func (r Retention) marked(id storage.ID) bool {
	return slices.ContainsFunc(r.Marks, func(m storage.Mark) bool { return m.ID == id })
}

// wanted are the versions, of those given newest first, that stay for their own sake.
func (r Retention) wanted(levels []storage.Level, good []Kept) (onNodes, atHome map[storage.ID]bool) {
	onNodes, atHome = make(map[storage.ID]bool), make(map[storage.ID]bool)
	take := func(into map[storage.ID]bool, fits func(Kept) bool) {
		left := max(r.Keep, 1)
		var newest *Kept
		apart := r.Keep < 2 // one that stands apart from the newest is taken, or not wanted
		for i, v := range good {
			if !fits(v) {
				continue
			}
			if newest == nil {
				newest = &good[i]
			}
			if left > 0 || !apart && v.apart(*newest) {
				into[v.ID] = true
				left--
				apart = apart || v.apart(*newest)
			}
		}
	}
	for _, level := range levels {
		if level.Tier != storage.TierMemory {
			take(onNodes, func(v Kept) bool { return v.Reached.Covers(level) })
			continue
		}
		safe := slices.IndexFunc(good, func(v Kept) bool { return v.Home || v.Reached.Covers(level) })
		if safe >= 0 && !good[safe].Home { // which stays there
			onNodes[good[safe].ID] = true
		}
	}
	take(onNodes, func(v Kept) bool { return v.Reached.On(storage.TierNode) != 0 })
	take(atHome, func(v Kept) bool { return v.Home })
	for _, id := range r.toBeCopied(good) {
		onNodes[id] = true
	}
	for _, v := range good {
		if v.ID == r.Verified && v.Home {
			atHome[v.ID] = true
		} else if v.ID == r.Verified {
			onNodes[v.ID] = true
		}
	}
	return onNodes, atHome
}

// toBeCopied are the versions, of those given newest first, that stay because they
// are to be copied to the parallel file system: the oldest, which is being copied,
// and the Keep newest. Where that is slow or full, those in between would fill the
// nodes. What is older than a version that is there need not go there any more.
func (r Retention) toBeCopied(good []Kept) (ids []storage.ID) {
	for _, v := range good {
		if v.Home {
			break
		}
		if v.Pending {
			ids = append(ids, v.ID)
		}
	}
	if keep := max(r.Keep, 1); len(ids) > keep {
		return append(ids[:keep:keep], ids[len(ids)-1])
	}
	return ids
}

// addReferenced adds what the wanted versions refer to.
func addReferenced(wanted map[storage.ID]bool, versions []Kept) {
	for _, v := range versions {
		if !wanted[v.ID] || v.Oldest == 0 {
			continue
		}
		for _, other := range versions {
			if refers(v.ID, v.Oldest, other.ID) {
				wanted[other.ID] = true
			}
		}
	}
}

// refers reports whether a version may refer to another one; oldest is its Facts.Oldest.
func refers(id storage.ID, oldest uint64, other storage.ID) bool {
	return oldest != 0 && other.Attempt == id.Attempt && other.Version >= oldest && other.Version < id.Version
}
