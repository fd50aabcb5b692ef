package catalog

import (
	"maps"
	"slices"

	"github.com/craft-go/craft/storage"
)

// Facts are what the header of a version's parts says.
type Facts struct {
	Plan   storage.Levels // that it was to have
	Oldest uint64         // number of the oldest version that it refers to; 0: none
	Stage  Stage          // of a nested checkpoint
}

// Catalog says what is where.
type Catalog struct {
	View // of all places
}

// stored is what a catalog and its views know.
type stored struct {
	objects map[storage.ID]map[object][]Place // ascending
	facts   map[storage.ID]Facts
	sets    map[storage.ID]sets
	away    map[storage.ID][]string // storage.Entry.Away
	unread  map[storage.ID]string   // why a header cannot be read now
	unseen  []string                // places that may have any version, and why
	ranks   []Place                 // their nodes
}

// object is an object of a version.
type object struct {
	kind storage.Kind
	part storage.Part
}

func objectOf(key storage.ObjectKey) object { return object{key.Kind, key.Part} }

// New returns a catalog of nothing. ranks are the nodes of the ranks: with a node the memory of
// those on it is lost.
func New(ranks ...Place) *Catalog {
	return &Catalog{View{stored: &stored{
		ranks:   ranks,
		objects: make(map[storage.ID]map[object][]Place),
		facts:   make(map[storage.ID]Facts), sets: make(map[storage.ID]sets),
		away: make(map[storage.ID][]string), unread: make(map[storage.ID]string),
	}}}
}

// Add enters that a place has an object.
func (c *Catalog) Add(key storage.ObjectKey, at Place) {
	of := c.objects[key.ID]
	if of == nil {
		of = make(map[object][]Place)
		c.objects[key.ID] = of
	}
	o := objectOf(key)
	if i, found := slices.BinarySearch(of[o], at); !found {
		of[o] = slices.Insert(of[o], i, at)
	}
}

// AddPart enters that a place has a part as such.
func (c *Catalog) AddPart(id storage.ID, part storage.Part, at Place) {
	c.Add(PartOf(id, part), at)
}

// PartOf is the object that is a part itself.
func PartOf(id storage.ID, part storage.Part) storage.ObjectKey {
	return storage.ObjectKey{ID: id, Kind: storage.KindPart, Part: part}
}

// SetFacts enters what a header says.
func (c *Catalog) SetFacts(id storage.ID, f Facts) { c.facts[id] = f }

// Forget takes out all that is known of a version.
func (c *Catalog) Forget(id storage.ID) {
	delete(c.objects, id)
	delete(c.sets, id)
	delete(c.facts, id)
	delete(c.away, id)
}

// Leave takes out what places on a tier have of a version.
func (c *Catalog) Leave(id storage.ID, t storage.Tier) {
	if t == storage.TierNode {
		delete(c.sets, id)
	}
	of := c.objects[id]
	for o, at := range of {
		of[o] = slices.DeleteFunc(slices.Clone(at), func(p Place) bool { return p.tier() == t })
	}
	maps.DeleteFunc(of, func(_ object, at []Place) bool { return len(at) == 0 })
	if len(of) == 0 {
		delete(c.objects, id)
	}
}
