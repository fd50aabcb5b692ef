package stack

import (
	"maps"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/nodelocal"
)

// inventory says what is where. All ranks have the same one after a Survey.
type inventory struct {
	objects map[storage.ID]map[nodelocal.Key][]int // numbers of nodes, ascending
	home    map[storage.ID]map[storage.Part]struct{}
	info    map[storage.ID]info
	sets    map[storage.ID]*sets
	away    map[storage.ID][]string // storage.Entry.Away
	unread  map[storage.ID]string   // why a header cannot be read now
	unseen  []string                // nodes that may have any version, and why
}

// info is what the header of a version's parts says.
type info struct {
	Plan   storage.Levels
	Oldest uint64
}

func newInventory() inventory {
	return inventory{
		objects: make(map[storage.ID]map[nodelocal.Key][]int), home: make(map[storage.ID]map[storage.Part]struct{}),
		info: make(map[storage.ID]info), sets: make(map[storage.ID]*sets),
		away: make(map[storage.ID][]string), unread: make(map[storage.ID]string),
	}
}

func (v *inventory) add(key nodelocal.Key, node int) {
	of := v.objects[key.ID]
	if of == nil {
		of = make(map[nodelocal.Key][]int)
		v.objects[key.ID] = of
	}
	if i, found := slices.BinarySearch(of[key], node); !found {
		of[key] = slices.Insert(of[key], i, node)
	}
}

func (v *inventory) addHome(id storage.ID, part storage.Part) {
	if v.home[id] == nil {
		v.home[id] = make(map[storage.Part]struct{})
	}
	v.home[id][part] = struct{}{}
}

// holders are the nodes that have an object.
func (v *inventory) holders(key nodelocal.Key) []int { return v.objects[key.ID][key] }

// onNodes are the nodes that have an object of a version.
func (v *inventory) onNodes(id storage.ID, kind nodelocal.Kind, part storage.Part) []int {
	return v.holders(nodelocal.Key{ID: id, Kind: kind, Part: part})
}

func (v *inventory) atHome(id storage.ID, part storage.Part) bool {
	_, ok := v.home[id][part]
	return ok
}

// places are those that count when it is asked whether something can be had.
type places struct {
	home bool
	lost int // this node does not count; noNode: all do
}

const noNode = -1

var (
	anywhere = places{home: true, lost: noNode}
	onANode  = places{lost: noNode}
)

// without are all places but one node.
func without(node int) places { return places{home: true, lost: node} }

// onOneOf tells whether a node that counts has an object.
func (v *inventory) onOneOf(id storage.ID, kind nodelocal.Kind, part storage.Part, at places) bool {
	nodes := v.onNodes(id, kind, part)
	return len(nodes) > 1 || len(nodes) == 1 && nodes[0] != at.lost
}

// stored tells whether the bytes of a part are somewhere as such.
func (v *inventory) stored(id storage.ID, part storage.Part, at places) bool {
	return v.onOneOf(id, nodelocal.KindPart, part, at) || v.onOneOf(id, nodelocal.KindCopy, part, at) ||
		at.home && v.atHome(id, part)
}

// recoverable tells whether a part can be had.
func (v *inventory) recoverable(id storage.ID, part storage.Part, at places) bool {
	return v.stored(id, part, at) || v.rebuildable(id, part, at)
}

// ids are all versions of which anything is known, in order.
func (v *inventory) ids() []storage.ID {
	all := slices.Collect(maps.Keys(v.objects))
	all = slices.AppendSeq(all, maps.Keys(v.home))
	all = slices.AppendSeq(all, maps.Keys(v.away))
	slices.SortFunc(all, storage.ID.Compare)
	return slices.Compact(all)
}

// named are the parts of a version that anything speaks of. What the name of a file
// says need not be true: nothing is counted up to a number out of it.
func (v *inventory) named(id storage.ID) []storage.Part {
	all := make(map[storage.Part]struct{})
	for key := range v.objects[id] {
		all[key.Part] = struct{}{}
	}
	maps.Copy(all, v.home[id])
	if known := v.sets[id]; known != nil {
		for part := range known.of {
			all[part] = struct{}{}
		}
	}
	return slices.Collect(maps.Keys(all))
}

// entry is a version as a driver's List has it: with the parts that can be had.
func (v *inventory) entry(id storage.ID) storage.Entry {
	e := storage.Entry{ID: id, Away: slices.Concat(v.away[id], v.unseen)}
	for _, part := range v.named(id) {
		if v.recoverable(id, part, anywhere) {
			e.Parts = append(e.Parts, part)
		}
	}
	if len(e.Parts) == 0 {
		return e
	}
	e.Parts = e.Group()
	storage.SortEntries([]storage.Entry{e})
	return e
}

// size is how many ranks wrote a version, of which perhaps nothing can be had.
func (v *inventory) size(id storage.ID) int {
	if n := v.entry(id).Size(); n > 0 {
		return n
	}
	return storage.Entry{Parts: v.named(id)}.Size()
}

// complete tells whether the whole version can be had.
func (v *inventory) complete(id storage.ID) bool { return v.entry(id).Complete() }

// wholeAtHome tells whether the home has all parts of a version and of those that
// it refers to.
func (v *inventory) wholeAtHome(id storage.ID) bool {
	return !slices.ContainsFunc(v.withBases(id), func(one storage.ID) bool {
		e := storage.Entry{ID: one}
		for part := range v.home[one] {
			e.Parts = append(e.Parts, part)
		}
		return !e.Complete()
	})
}

// withBases are the versions that a version may refer to, and itself, the oldest
// first.
func (v *inventory) withBases(id storage.ID) []storage.ID {
	oldest := v.info[id].Oldest
	if oldest == 0 {
		return []storage.ID{id}
	}
	var out []storage.ID
	for _, other := range v.ids() {
		if other.Attempt == id.Attempt && other.Version >= oldest && other.Version < id.Version {
			out = append(out, other)
		}
	}
	return append(out, id)
}

func (v *inventory) forget(id storage.ID, home bool) {
	delete(v.objects, id)
	delete(v.sets, id)
	if home {
		delete(v.home, id)
		delete(v.info, id)
		delete(v.away, id)
	}
}

// hostOf is the rank that has a part on its node or, if no node has it, that is
// to get it there.
func (s *Stack) hostOf(id storage.ID, part storage.Part) comm.Rank {
	ranks := len(s.nodes.of)
	own := comm.Rank(part.Rank % ranks)
	at := s.inv.onNodes(id, nodelocal.KindPart, part)
	if len(at) == 0 || slices.Contains(at, s.nodes.of[own]) {
		return own
	}
	return s.nodes.list[at[0]].leader()
}
