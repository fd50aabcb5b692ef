package catalog

import (
	"slices"

	"github.com/craft-go/craft/storage"
)

// Source is where the bytes of a part can be had.
type Source struct {
	// Parity: they are rebuilt. Otherwise a place has Key.
	Parity bool
	Key    storage.ObjectKey
	At     Place
}

// Sources are those of a part, in the order in which they are tried: the memory of ranks, nodes,
// of both what is near first, what parity on the nodes gives back, the home, and what parity gives
// back with its help. The parallel file system comes behind all that the nodes can do alone,
// because all jobs share it.
func (v View) Sources(id storage.ID, part storage.Part, near ...Place) (all []Source) {
	add := func(t storage.Tier) {
		var far []Source
		for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy} {
			key := storage.ObjectKey{ID: id, Kind: kind, Part: part}
			for _, p := range with(v, key, t) {
				if slices.Contains(near, p) {
					all = append(all, Source{Key: key, At: p})
				} else {
					far = append(far, Source{Key: key, At: p})
				}
			}
		}
		all = append(all, far...)
	}
	add(storage.TierMemory)
	add(storage.TierNode)
	alone := v.OnNodes().Rebuildable(id, part)
	if alone {
		all = append(all, Source{Parity: true})
	}
	if v.AtHome(id, part) {
		all = append(all, Source{Key: PartOf(id, part), At: Home})
	}
	if !alone && v.Rebuildable(id, part) {
		all = append(all, Source{Parity: true})
	}
	return all
}
