package catalog

import (
	"slices"

	"github.com/craft-go/craft/storage"
)

// Kept says how a version is kept: see Reached.
func (v View) Kept(id storage.ID, nodes, parity int) Kept {
	f := v.facts[id]
	k := Kept{Entry: v.Entry(id), Oldest: f.Oldest, Home: v.HomeAlone().Whole(id), Reached: v.Reached(id, nodes, parity)}
	k.Volatile = Volatile(v, id)
	k.Pending = f.Plan.AtHome() && f.Plan.BelowHome() != 0 && !k.Home
	return k
}

// Volatile reports whether all that there is of a version is in memory.
func Volatile(v View, id storage.ID) bool { return v.Any(id) && !InFiles(v).Any(id) }

// Reached are the levels that a version has below the home, of those that it was to have;
// none: it is not there. It is Local also for what is at home but refers to a version that is
// not: the nodes have what it needs. parity is how many of a set Reed-Solomon is to let
// the job lose, nodes how many the job has.
func (v View) Reached(id storage.ID, nodes, parity int) storage.Levels {
	return reachedInFiles(InFiles(v), id, nodes, parity).With(reachedInMemory(InMemory(v), id, nodes))
}

func reachedInFiles(v View, id storage.ID, nodes, parity int) storage.Levels {
	if !v.OnNodes().Any(id) && (!v.Complete(id) || v.HomeAlone().Whole(id)) {
		return 0
	}
	reached := storage.LevelsOf(storage.Local)
	if nodes > 1 && v.SurvivesANode(id) {
		for l := range v.facts[id].Plan.On(storage.TierNode).All() {
			reached = reached.With(storage.LevelsOf(standsFor(v, id, l, parity)))
		}
	}
	return reached
}

// reachedInMemory is Process also where some part is in the memory of one rank alone.
func reachedInMemory(v View, id storage.ID, nodes int) storage.Levels {
	if !v.Complete(id) {
		return 0
	}
	reached := storage.LevelsOf(storage.Process)
	if nodes > 1 && v.SurvivesANode(id) {
		reached = reached.With(v.facts[id].Plan.On(storage.TierMemory))
	}
	return reached
}

// standsFor is the level of a version that survives a loss, by what protects it: less than what
// it was meant for where the nodes did not allow that, or where some of it is lost.
func standsFor(v View, id storage.ID, level storage.Level, parity int) storage.Level {
	switch {
	case level.Redundancy != storage.Parity:
		return level
	case len(v.Sets(id)) == 0:
		return storage.Partner
	case level.Survives.OfEachSet > 1 && v.LacksAny(id, parity):
		return storage.XOR
	}
	return level
}

// SurvivesANode reports whether the whole version could be had after the loss of any
// one node. Parts that a single node has are looked at again without that node,
// and nothing is looked at for each node: a job has many.
func (v View) SurvivesANode(id storage.ID) bool {
	e, left := v.Entry(id), v.After(Home)
	one := &left.lost[len(v.lost)]
	return e.Complete() && !slices.ContainsFunc(e.Parts, func(part storage.Part) bool {
		return slices.ContainsFunc(neededFor(v, id, part), func(n Place) bool {
			*one = n
			return !left.Recoverable(id, part)
		})
	})
}

// neededFor are the nodes whose loss alone could cost a part.
func neededFor(v View, id storage.ID, part storage.Part) []Place {
	switch {
	case v.AtHome(id, part):
		return nil
	case !v.Stored(id, part):
		return nodesOfSets(v, id, part)
	}
	return []Place{nodeOf(v.ranks, having(v, id, part)[0])} // after the loss of any other one this one has it
}

// having are the nodes and memories that have the bytes of a part as such.
func having(v View, id storage.ID, part storage.Part) (at []Place) {
	for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy} {
		key := storage.ObjectKey{ID: id, Kind: kind, Part: part}
		at = append(append(at, v.Nodes(key)...), Memories(v, key)...)
	}
	return at
}

// nodesOfSets are the nodes that have something of the sets of a part.
func nodesOfSets(v View, id storage.ID, part storage.Part) (out []Place) {
	for _, i := range v.sets[id].of[part] {
		for _, rank := range v.sets[id].all[i].Ranks {
			for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy, storage.KindParity} {
				out = append(out, v.Nodes(storage.ObjectKey{ID: id, Kind: kind, Part: storage.Part{Rank: rank, Size: part.Size}})...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
