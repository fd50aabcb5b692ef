package stack

import (
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/nodelocal"
)

// survivesLoss tells whether the whole version could be had after the loss of any
// one node. Parts that a single node has are looked at again without that node,
// and nothing is looked at for each node: a job has many.
func (v *inventory) survivesLoss(id storage.ID) bool {
	e := v.entry(id)
	return e.Complete() && !slices.ContainsFunc(e.Parts, func(part storage.Part) bool {
		return slices.ContainsFunc(v.neededFor(id, part), func(n int) bool { return !v.recoverable(id, part, without(n)) })
	})
}

// neededFor are the nodes whose loss alone could cost a part.
func (v *inventory) neededFor(id storage.ID, part storage.Part) []int {
	switch {
	case v.atHome(id, part):
		return nil
	case !v.stored(id, part, anywhere):
		return v.nodesOfSets(id, part)
	}
	has := v.onNodes(id, nodelocal.KindPart, part)
	if len(has) == 0 {
		has = v.onNodes(id, nodelocal.KindCopy, part)
	}
	return has[:1] // after the loss of any other one this one has it
}

// nodesOfSets are the nodes that have something of the sets of a part.
func (v *inventory) nodesOfSets(id storage.ID, part storage.Part) (out []int) {
	known := v.sets[id]
	if known == nil {
		return nil
	}
	for _, i := range known.of[part] {
		for _, rank := range known.all[i].Ranks {
			for _, kind := range []nodelocal.Kind{nodelocal.KindPart, nodelocal.KindCopy, nodelocal.KindParity} {
				out = append(out, v.onNodes(id, kind, storage.Part{Rank: rank, Size: part.Size})...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
