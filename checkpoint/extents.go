package checkpoint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

// maxExtents is how many bytes of a header they may take; those that do not fit
// are left out.
const maxExtents = 256 << 10

// extent is how large a value is, or a slice in it, as it is stored in a header.
type extent struct {
	Key string `json:"k"`
	cptypes.Extent
}

// extents tells problems of different sizes apart where there is no fingerprint. A
// value that has kept the extent that it had at Commit is one that does not grow:
// it is stored with that statement, and a program that begins with another extent
// is one of another problem.
type extents struct {
	committed []extent // of the values that were not empty at Commit
	// kept are those of them that no write has found to be others.
	kept []extent
}

// extents are those of the values now, without what may have any.
func (r *registry) extents() []extent {
	var out []extent
	for _, e := range r.entries {
		if e.resizable {
			continue
		}
		for _, x := range cptypes.ExtentsOf(e.value) {
			x.Shape = slices.Clone(x.Shape)
			out = append(out, extent{e.key, x})
		}
	}
	return out
}

// stateExtents adds to a header which values have still the extent of Commit.
func (r *registry) stateExtents(h *container.Header) error {
	x := &r.sizes
	if len(x.committed) == 0 {
		return nil
	}
	if len(x.kept) > 0 {
		x.kept = common(x.kept, r.extents())
	}
	for stated := x.kept; ; stated = stated[:len(stated)/2] {
		data, err := json.Marshal(stated)
		if err != nil {
			return err
		}
		if len(data) <= maxExtents {
			h.Fields = h.Fields.With(container.FieldExtents, data)
			return nil
		}
	}
}

// common are those of a that are in b, too.
func common(a, b []extent) []extent {
	index := indexExtents(b)
	out := []extent{}
	for _, x := range a {
		if slices.Equal(index[x.id()], x.Shape) {
			out = append(out, x)
		}
	}
	return out
}

type extentID struct{ key, path string }

func (x extent) id() extentID { return extentID{x.Key, x.Path} }

func indexExtents(list []extent) map[extentID][]int64 {
	index := make(map[extentID][]int64, len(list))
	for _, x := range list {
		index[x.id()] = x.Shape
	}
	return index
}

// checkExtents refuses a version of a problem of another size: see extents. At a
// recovery the values may be as large as they have become, so nothing is refused.
func (r *restoration) checkExtents() error {
	reg, x := r.reg, &r.reg.sizes
	x.kept = x.committed
	stored, err := parseExtents(r.home.Header())
	if err != nil || stored == nil {
		return err
	}
	x.kept = common(x.committed, stored)
	if repairs, _ := reg.comm.Session().Recovered(); repairs > 0 {
		return nil
	}
	committed := indexExtents(x.committed)
	for _, s := range stored {
		mine := committed[s.id()]
		if len(mine) == len(s.Shape) && !slices.Equal(mine, s.Shape) && r.sameKind(s.Key) {
			return &KeyError{Key: s.Key, Err: reg.anotherSize(s, mine)}
		}
	}
	return nil
}

// parseExtents returns what stateExtents has stated; nil if it was not called.
func parseExtents(h container.Header) ([]extent, error) {
	data, ok := h.Fields.Get(container.FieldExtents)
	if !ok {
		return nil, nil
	}
	stored := []extent{}
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, &container.DamageError{Reason: fmt.Sprintf("header: extents: %v", err)}
	}
	return stored, nil
}

// sameKind reports whether a value is what is stored but for its extent. Otherwise
// there is more to say about it, and its Resize does.
func (r *restoration) sameKind(key string) bool {
	stored, have := r.mem.stored[key].Desc, cptypes.DescOf(r.reg.entries[r.reg.index[key]].value)
	return stored.Elem == have.Elem && stored.Dist == have.Dist
}

func (r *registry) anotherSize(stored extent, mine []int64) error {
	what, out := "it", "; if it is to take the stored extent, leave it empty until RestartIfNeeded, or add it with checkpoint.Resizable()"
	if stored.Path != "" {
		what += "s field " + strings.TrimPrefix(stored.Path, ".")
	}
	i := r.index[stored.Key]
	if cptypes.DescOf(r.entries[i].value).Dist == container.Partitioned {
		out = ""
	}
	return fmt.Errorf("%w: the stored problem is of another size: when it was written %s had kept the extent that it had at Commit, %s, and now it has %s at Commit: run with the stored parameters (checkpoint.WithFingerprint tells their names) or in another directory%s",
		cptypes.ErrMismatch, what, extentText(stored.Shape), extentText(mine), out)
}

func extentText(shape []int64) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", "x")
}
