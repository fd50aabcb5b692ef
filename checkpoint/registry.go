package checkpoint

import (
	"fmt"
	"sync/atomic"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// entry is one registered value.
type entry struct {
	key      string
	value    cptypes.Value
	optional bool
	// resizable: it may be restored with any extent.
	resizable bool
	finite    bool
	guards    []guard
}

// registry holds the values that were added, and what is known of their memory.
type registry struct {
	*core
	line *lineage

	entries  []entry
	index    map[string]int      // in entries, by key
	addErr   error               // the first one of Add
	sections []container.Section // of entries, for the version being written
	values   []cptypes.Value     // of entries
	overlaps cptypes.Overlaps
	sizes    extents

	adopted storage.ID                // see Adopt
	touched map[string]bool           // by the last call of RestartIfNeeded
	taken   map[string]container.Info // of the version that it has read, by key
	bytes   atomic.Int64              // of this rank's part of the last version
}

// AddOption changes how one value is treated.
type AddOption func(*entry)

// Optional accepts a stored version without this key: the value then stays as
// it is. For programs that have learned to store more than they used to.
func Optional() AddOption { return func(e *entry) { e.optional = true } }

// Resizable lets the value take the stored extent, whatever it has itself. Without
// it a version is refused by a program that begins with another one, if the value
// had kept the extent that it had at Commit until the version was written: then the
// version is most likely of a problem of another size. Values that are empty at
// Commit, and values that grow, need it not.
func Resizable() AddOption { return func(e *entry) { e.resizable = true } }

func (r *registry) add(key string, value any, opts []AddOption) error {
	if err := storage.CheckName("key", key); err != nil {
		return err
	}
	if _, taken := r.index[key]; taken {
		return fmt.Errorf("%w: a value was added under this key before", ErrArgument)
	}
	v, err := cptypes.Of(value)
	if err != nil {
		return err
	}
	e := entry{key: key, value: v}
	for i, opt := range opts {
		if opt == nil {
			return fmt.Errorf("%w: option %d of %d is nil", ErrArgument, i+1, len(opts))
		}
		opt(&e)
	}
	if err := e.checkGuards(); err != nil {
		return err
	}
	r.index[key] = len(r.entries)
	r.entries, r.values = append(r.entries, e), append(r.values, v)
	return nil
}

// commit notes the extents that the values have when nothing can be added any more.
func (r *registry) commit() {
	r.sizes.committed = r.extents()
	r.sizes.kept = r.sizes.committed
	r.tellUnguarded()
}

// touch notes that a restart changes a value: this rank has no version any more that it has
// adopted, also if the restart fails and is made again.
func (r *registry) touch(key string) {
	r.touched[key], r.adopted = true, storage.ID{}
}

func (r *registry) clear() { r.entries, r.sections, r.values = nil, nil, nil }

// update lets the values fetch what they store. All are updated before any is
// looked at: the Update of one may change another.
func (r *registry) update() error {
	for _, e := range r.entries {
		if u, ok := e.value.(cptypes.Updater); ok {
			if err := u.Update(); err != nil {
				return &KeyError{Key: e.key, Err: err}
			}
		}
	}
	return nil
}

// describeAll describes the present state of all values in sections, and adds to the
// header what it says of them.
func (r *registry) describeAll(h *container.Header) error {
	if r.sections == nil {
		r.sections = make([]container.Section, len(r.entries))
	}
	for i := range r.entries {
		r.describe(&r.entries[i], &r.sections[i])
	}
	r.noteSharing(h)
	r.noteFamily(h)
	return r.stateExtents(h)
}

func (r *registry) describe(e *entry, s *container.Section) {
	*s = container.Section{Key: e.key, Desc: cptypes.DescOf(e.value)}
	s.Finite = r.mustBeFinite(e, s.Desc)
	if spans, ok := spansOf(e.value); ok {
		s.Spans = spans
	} else {
		s.Source = e.value
	}
	if s.Desc.Dist == container.Replicated && r.comm.Size() > 1 && sizeOf(e.value) > smallReplicated {
		rank, ranks := int(r.comm.Rank()), r.comm.Size()
		s.Stores = func(chunk int) bool { return chunk%ranks == rank }
	}
}

func spansOf(v cptypes.Value) ([][]byte, bool) {
	if s, ok := v.(cptypes.Spanner); ok {
		return s.Spans()
	}
	return nil, false
}

// sizeOf returns the stored size of v in bytes, 0 if v does not tell.
func sizeOf(v cptypes.Value) int64 {
	if s, ok := v.(cptypes.Sizer); ok {
		return s.Size()
	}
	return 0
}
