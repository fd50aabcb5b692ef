package catalog

import (
	"maps"
	"slices"

	"github.com/craft-go/craft/storage"
)

// View is a catalog as it is when some places do not count.
type View struct {
	*stored

	lost  []Place
	tiers []storage.Tier // those that count; nil: all
}

// After is what is left when places are lost.
func (v View) After(lost ...Place) View {
	v.lost = slices.Concat(v.lost, lost)
	return v
}

func on(v View, tiers ...storage.Tier) View {
	v.tiers = tiers
	return v
}

// HomeAlone is what is left when all nodes are lost.
func (v View) HomeAlone() View { return on(v, storage.TierHome) }

// InMemory is what there is of a view without files.
func InMemory(v View) View { return on(v, storage.TierMemory) }

// InFiles is what is left of a view when the job has ended.
func InFiles(v View) View { return on(v, storage.TierNode, storage.TierHome) }

// OnNodes is what nodes and the ranks on them have.
func (v View) OnNodes() View { return v.After(Home) }

func (v *View) counts(p Place) bool {
	if v.tiers != nil && !slices.Contains(v.tiers, p.tier()) {
		return false
	}
	return len(v.lost) == 0 || !slices.Contains(v.lost, p) && !slices.Contains(v.lost, nodeOf(v.ranks, p))
}

func anywhere(v *View, at []Place) bool { return slices.ContainsFunc(at, v.counts) }

// AtHome reports whether the parallel file system has a part.
func (v View) AtHome(id storage.ID, part storage.Part) bool {
	at := v.objects[id][object{storage.KindPart, part}]
	return len(at) > 0 && at[0] == Home && v.counts(Home)
}

// Nodes are those that have an object, ascending.
func (v View) Nodes(key storage.ObjectKey) []Place {
	return with(v, key, storage.TierNode)
}

// Memories are those of the ranks that have an object in memory.
func Memories(v View, key storage.ObjectKey) []Place { return with(v, key, storage.TierMemory) }

// with are the places on a tier that have an object.
func with(v View, key storage.ObjectKey, t storage.Tier) []Place {
	at := only(v.objects[key.ID][objectOf(key)], t)
	if v.lost == nil && v.tiers == nil {
		return at
	}
	return slices.DeleteFunc(slices.Clone(at), func(p Place) bool { return !v.counts(p) })
}

// NodesWith are those that have objects of some kinds of a version, ascending.
func (v View) NodesWith(id storage.ID, kinds ...storage.Kind) (nodes []Place) {
	for o := range v.objects[id] {
		if slices.Contains(kinds, o.kind) {
			nodes = append(nodes, v.Nodes(storage.ObjectKey{ID: id, Kind: o.kind, Part: o.part})...)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// Any reports whether any place has anything of a version.
func (v View) Any(id storage.ID) bool {
	for _, at := range v.objects[id] {
		if anywhere(&v, at) {
			return true
		}
	}
	return false
}

// Stored reports whether the bytes of a part are somewhere as such.
func (v View) Stored(id storage.ID, part storage.Part) bool {
	of := v.objects[id]
	return anywhere(&v, of[object{storage.KindPart, part}]) || anywhere(&v, of[object{storage.KindCopy, part}])
}

// Recoverable reports whether a part can be had.
func (v View) Recoverable(id storage.ID, part storage.Part) bool {
	return v.Stored(id, part) || v.Rebuildable(id, part)
}

// IDs are all versions of which anything is known, in order.
func (v View) IDs() []storage.ID {
	all := slices.Collect(maps.Keys(v.objects))
	all = slices.AppendSeq(all, maps.Keys(v.away))
	slices.SortFunc(all, storage.ID.Compare)
	return slices.Compact(all)
}

// Facts are what a header of a version says; ok is false if none could be read.
func (v View) Facts(id storage.ID) (f Facts, ok bool) {
	f, ok = v.facts[id]
	return f, ok
}

// Plan are the levels that a version was to have, as far as a header says so.
func (v View) Plan(id storage.ID) storage.Levels { return v.facts[id].Plan }

// Entry is a version with the parts that can be had, without those whose names lie
// (storage.Entry.Group).
func (v View) Entry(id storage.ID) storage.Entry {
	e := v.Listed(id)
	e.Parts = e.Group()
	return e
}

// Listed is a version as a driver's List has it: with all parts that can be had.
func (v View) Listed(id storage.ID) storage.Entry {
	e := storage.Entry{ID: id, Away: v.Away(id)}
	for part := range namedParts(v, id) {
		if v.Recoverable(id, part) {
			e.Parts = append(e.Parts, part)
		}
	}
	storage.SortEntries([]storage.Entry{e})
	return e
}

// namedParts are the parts of a version that anything speaks of.
func namedParts(v View, id storage.ID) map[storage.Part]struct{} {
	all := make(map[storage.Part]struct{})
	for o := range v.objects[id] {
		all[o.part] = struct{}{}
	}
	for part := range v.sets[id].of {
		all[part] = struct{}{}
	}
	return all
}

// Size is how many ranks wrote a version, of which perhaps nothing can be had.
func (v View) Size(id storage.ID) int {
	if n := v.Entry(id).Size(); n > 0 {
		return n
	}
	return storage.Entry{Parts: slices.Collect(maps.Keys(namedParts(v, id)))}.Size()
}

// Complete reports whether the whole version can be had, but perhaps for what it refers to.
func (v View) Complete(id storage.ID) bool { return v.Entry(id).Complete() }

// Whole reports whether the whole version can be had, and those that it refers to.
func (v View) Whole(id storage.ID) bool {
	return !slices.ContainsFunc(v.WithBases(id), func(one storage.ID) bool { return !v.Complete(one) })
}

// WithBases are the versions that a version may refer to, and itself, the oldest first.
func (v View) WithBases(id storage.ID) (all []storage.ID) {
	oldest := v.facts[id].Oldest
	if oldest != 0 {
		all = slices.DeleteFunc(v.IDs(), func(other storage.ID) bool { return !refers(id, oldest, other) })
	}
	return append(all, id)
}

// AwayAt is Away without the places that may have any version.
func (v View) AwayAt(id storage.ID) []string { return v.away[id] }

// Away says what of a version places may have that cannot show it now: its bytes may be
// there later, whatever the parts are called.
func (v View) Away(id storage.ID) []string { return slices.Concat(v.away[id], v.unseen) }
