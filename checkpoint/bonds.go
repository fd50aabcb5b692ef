package checkpoint

import (
	"slices"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

// Values that shared memory when they were stored, and those that a version lacks, are to be
// no more apart after a restart than before it: they are moved together. Where that cannot
// be, because one of them has a fixed place, it is said.

// sharedWhenStored is what the version says.
func (r *restoration) sharedWhenStored() (noted, kinship) {
	fields := r.home.Header().Fields
	sharing, _ := fields.Get(container.FieldSharing)
	family, _ := fields.Get(container.FieldFamily)
	var keys []string
	for _, info := range r.home.Sections() {
		keys = append(keys, info.Key)
	}
	return parseSharing(sharing, keys), parseFamily(family)
}

// absent reports whether the version lacks a value.
func (r *restoration) absent(i int) bool {
	_, ok := r.stored[r.cp.entries[i].key]
	return !ok
}

// bound reports whether a value shared memory with another one when it was stored.
func (r *restoration) bound(i int) bool {
	key := r.cp.entries[i].key
	return r.then.group[key] != 0 || r.kin.of(key)
}

// belong reports whether two values are to stay in the same memory.
func (r *restoration) belong(i, k int) bool {
	return r.absent(i) && r.absent(k) || r.then.together(r.cp.entries[i].key, r.cp.entries[k].key)
}

// companions are, for the index of a value, those of all that move with it, and its own.
type companions map[int][]int

func companionsOf(pairs [][2]int) companions {
	out := make(companions)
	for _, group := range groups(pairs) {
		for _, i := range group {
			out[i] = group
		}
	}
	return out
}

// companions are those among the values that overlap, and among those that did when stored.
func (r *restoration) companions(overlap [][2]int) companions {
	var pairs [][2]int
	for _, p := range overlap {
		if r.absent(p[0]) && r.absent(p[1]) {
			pairs = append(pairs, p)
		}
	}
	last := make(map[int]int) // of a group
	for i, e := range r.cp.entries {
		if g := r.then.group[e.key]; g != 0 {
			k, is := last[g]
			if last[g] = i; is {
				pairs = append(pairs, [2]int{k, i})
			}
		}
	}
	return companionsOf(pairs)
}

// of returns value i and those that move with it.
func (c companions) of(i int, values []cptypes.Value) (all []cptypes.Value) {
	if c[i] == nil {
		return []cptypes.Value{values[i]}
	}
	for _, k := range c[i] {
		all = append(all, values[k])
	}
	return all
}

// bond is memory that two values share and are to go on sharing.
type bond struct {
	key, other string // keys
	cp         string // the other one's checkpoint, if it is another one
}

// bonds are those that there are now, with how many bytes these are if the version lacks both,
// but for values that are to have other sizes than they have.
func (r *restoration) bonds() map[bond]int {
	cp, out := r.cp, make(map[bond]int)
	if len(r.stored) == len(cp.entries) && len(r.then.group) == 0 && !r.kin.any() {
		return out
	}
	fits := func(i int) bool {
		e := cp.entries[i]
		return r.absent(i) || slices.Equal(cptypes.DescOf(e.value).Shape, r.stored[e.key].Desc.Shape)
	}
	pairs := cp.overlaps.Find(cp.values(), false, r.absent)
	common := cp.overlaps.Common(pairs)
	for i, p := range pairs {
		if r.belong(p[0], p[1]) && (p[0] != p[1] || r.absent(p[0])) && fits(p[0]) && fits(p[1]) {
			b := bond{key: cp.entries[p[0]].key, other: cp.entries[p[1]].key}
			if out[b] = 1; r.absent(p[0]) { // others may change their lengths inside
				out[b] = common[i]
			}
		}
	}
	if !r.kin.any() {
		return out
	}
	relatives, plain, _ := cp.family()
	pairs, _ = cp.overlaps.Across(cp.values(), plain, false)
	for _, p := range pairs {
		b := bond{cp.entries[p[0]].key, relatives[p[1]].key, relatives[p[1]].cp.name}
		if r.kin[b.cp][[2]string{b.key, b.other}] && fits(p[0]) {
			out[b] = 1
		}
	}
	return out
}

// warnOfBroken names the values that are apart now.
func (r *restoration) warnOfBroken() {
	if len(r.before) == 0 {
		return
	}
	now := r.bonds()
	for b, bytes := range r.before {
		if now[b] < bytes {
			r.cp.log.Warn("values, or parts of one, lay in the same memory and are apart now, at least in part: others that were to be put apart from them lay there as well",
				"version", r.from.ID.Version, "key", b.key, "other_key", b.other, "other", b.cp)
		}
	}
}
