package checkpoint

import (
	"slices"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// Values that shared memory when they were stored, and those that a version lacks, are to be
// no more apart after a restart than before it: they are moved together. Where that cannot
// be, because one of them has a fixed place, it is said.

// sharedWhenStored is what a part says.
func sharedWhenStored(f *storage.File) (storedSharing, kinship) {
	fields := f.Header().Fields
	sharing, _ := fields.Get(container.FieldSharing)
	family, _ := fields.Get(container.FieldFamily)
	var keys []string
	for _, info := range f.Sections() {
		keys = append(keys, info.Key)
	}
	return parseSharing(sharing, keys), parseFamily(family)
}

// absent reports whether the version lacks a value.
func (m *arrangement) absent(i int) bool {
	_, ok := m.stored[m.reg.entries[i].key]
	return !ok
}

// companions are, for the index of a value, those of all that move with it, and its own; nil: none do.
type companions map[int][]int

// companions are those among the values that overlap, and among those that did when stored.
func (m *arrangement) companions(overlap [][2]int) companions {
	var pairs [][2]int
	for _, p := range overlap {
		if m.absent(p[0]) && m.absent(p[1]) {
			pairs = append(pairs, p)
		}
	}
	last := make(map[int]int) // of a group
	for i, e := range m.reg.entries {
		if g := m.then.group[e.key]; g != 0 {
			k, is := last[g]
			if last[g] = i; is {
				pairs = append(pairs, [2]int{k, i})
			}
		}
	}
	out := make(companions)
	for _, group := range groups(pairs) {
		for _, i := range group {
			out[i] = group
		}
	}
	return out
}

// of returns value i and those that move with it; the first stands for all of them.
func (c companions) of(i int) []int {
	if c[i] == nil {
		return []int{i}
	}
	return c[i]
}

// bond is memory that two values share and are to go on sharing.
type bond struct {
	bonded
	bytes int // how much it is if the version lacks both, else 1
}

type bonded struct {
	a, b     int  // indices of the values
	relative bool // b is one of another checkpoint
}

// bonds are those that there are now, but for values that are to have other sizes than they have.
func (m *arrangement) bonds() (out []bond) {
	reg := m.reg
	if len(m.stored) == len(reg.entries) && len(m.then.group) == 0 && !m.kin.any() {
		return nil
	}
	fits := func(i int) bool {
		e := reg.entries[i]
		return m.absent(i) || slices.Equal(cptypes.DescOf(e.value).Shape, m.stored[e.key].Desc.Shape)
	}
	var absent [][2]int // others may change their lengths inside
	for _, p := range reg.overlaps.Find(reg.values, false, m.absent) {
		switch {
		case m.absent(p[0]) && m.absent(p[1]):
			absent = append(absent, p)
		case m.then.together(reg.entries[p[0]].key, reg.entries[p[1]].key) && p[0] != p[1] && fits(p[0]) && fits(p[1]):
			out = append(out, bond{bonded{p[0], p[1], false}, 1})
		}
	}
	if len(absent) > 0 {
		for i, bytes := range reg.overlaps.Common(absent) {
			out = append(out, bond{bonded{absent[i][0], absent[i][1], false}, bytes})
		}
	}
	if !m.kin.any() {
		return out
	}
	relatives, plain, _ := reg.family()
	pairs, _ := reg.overlaps.Across(reg.values, plain, false)
	for _, p := range pairs {
		o := relatives[p[1]]
		if m.kin[o.of.name][[2]string{reg.entries[p[0]].key, o.key}] && fits(p[0]) {
			out = append(out, bond{bonded{p[0], p[1], true}, 1})
		}
	}
	return out
}

// warnOfBroken names the values that are apart now.
func (m *arrangement) warnOfBroken() {
	if len(m.before) == 0 || !m.moved {
		return
	}
	now := make(map[bonded]int)
	for _, b := range m.bonds() {
		now[b.bonded] = b.bytes
	}
	relatives, _, _ := m.reg.family()
	for _, b := range m.before {
		if now[b.bonded] >= b.bytes {
			continue
		}
		var other, checkpoint string
		if b.relative {
			other, checkpoint = relatives[b.b].key, relatives[b.b].of.name
		} else {
			other = m.reg.entries[b.b].key
		}
		m.reg.log.Warn("values, or parts of one, lay in the same memory and are apart now, at least in part: others that were to be put apart from them lay there as well",
			"version", m.version, "key", m.reg.entries[b.a].key, "other_key", other, "other", checkpoint)
	}
}
