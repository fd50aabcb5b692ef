package container

import (
	"slices"
	"sync"

	"github.com/zeebo/xxh3"
)

// Delta remembers, from version to version of one checkpoint, the chunks that
// were stored and where they are, so that EncodeDelta need not store them again.
// It takes 40 bytes for each chunk of each grade that is in use, and of one
// version more.
//
// A grade is a set of bits, each of which is a promise: a version refers only to
// versions that keep all promises of its own. After each EncodeDelta the caller says Keep or
// Drop. A Delta starts anew by itself when the name of the checkpoint, the attempt, the rank
// or the number of ranks changes. Its methods may be called concurrently, but only one
// EncodeDelta at a time.
type Delta struct {
	mu      sync.Mutex
	of      identity
	views   []*view // newest first, each with a promise that no newer one keeps
	current *view   // encoded or being encoded, neither kept nor dropped
	busy    bool    // an EncodeDelta runs
	repeat  uint64  // see RepeatOf; 0: none
	spare   *view   // whose memory serves again; may be nil
	run     deltaRun
}

// identity is what all versions have in common that may refer to one another.
type identity struct {
	name       string
	attempt    AttemptID
	rank, size int
}

// view is all that is stored of one version, here or in older ones.
type view struct {
	version  uint64
	grade    uint64
	files    []ref // where the chunks are, ascending; the last is the version's own
	sections []viewSection
	chunks   []location
	byKey    map[string]int // nil until a key is not where it was
	stale    bool           // Reset was called since it was begun
}

type viewSection struct {
	key   string
	geom  geometry
	first int // index of its first chunk

	inspected Elem // the chunks have passed as such; Opaque: nobody has looked
}

// location says where a chunk is. The hash is zero if it cannot be referred to:
// it is in another rank's file, or too small.
type location struct {
	hash      xxh3.Uint128 // of the raw bytes
	reference chunkRecord  // to it, in one of the files of the view
}

// NewDelta returns a Delta that knows of no version: the next one is full.
func NewDelta() *Delta { return new(Delta) }

// Keep says that the version that was encoded last has been published, and the
// promises that it keeps, of those that it was encoded for. It does nothing if version
// is not that one.
func (d *Delta) Keep(version uint64, grade uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.current
	if v == nil || d.busy || v.version != version {
		return
	}
	d.current = nil
	if v.stale {
		d.recycle(v)
		return
	}
	v.grade &= grade
	d.views = slices.DeleteFunc(d.views, func(older *view) bool {
		useless := older.grade&^v.grade == 0
		if useless {
			d.recycle(older)
		}
		return useless
	})
	d.views = slices.Insert(d.views, 0, v)
}

// Drop says that the version that was encoded last has failed: what it would
// have changed is forgotten.
func (d *Delta) Drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.busy {
		d.drop()
	}
}

func (d *Delta) drop() {
	if d.current != nil {
		d.recycle(d.current)
		d.current = nil
	}
}

// Reset forgets everything: the next version is full, and later ones do not
// refer to any before it, nor to one that is being encoded.
func (d *Delta) Reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget()
	if d.current != nil {
		d.current.stale = true
	}
}

func (d *Delta) forget() {
	for _, v := range d.views {
		d.recycle(v)
	}
	clear(d.views)
	d.views = d.views[:0]
}

// recycle keeps the memory of a view; there is no need for more than one.
func (d *Delta) recycle(v *view) {
	if d.spare == nil {
		d.spare = v
	}
}

func (d *Delta) take() *view {
	v := d.spare
	if v == nil {
		return new(view)
	}
	d.spare = nil
	*v = view{files: v.files[:0], sections: v.sections[:0], chunks: v.chunks[:0]}
	return v
}
