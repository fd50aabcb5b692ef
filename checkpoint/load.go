package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// partBoxes lists the boxes of one part.
type partBoxes struct {
	Part  int
	Boxes []keyDesc
}

type keyDesc struct {
	Key  string
	Desc container.Desc
}

func boxesOfPart(f *storage.File) partBoxes {
	out := partBoxes{Part: f.Header().Rank}
	for _, info := range f.Sections() {
		if info.Desc.Dist == container.Partitioned {
			out.Boxes = append(out.Boxes, keyDesc{Key: info.Key, Desc: info.Desc})
		}
	}
	return out
}

func (r *restoration) load(ctx context.Context) error { return r.loadThe(ctx, false) }

// loadThe reads the late values, or the others.
func (r *restoration) loadThe(ctx context.Context, late bool) error {
	if r.adopts() {
		return nil
	}
	err := r.loadKeys(ctx, func(key string) bool { return r.mem.late[key] == late && r.mem.with[key] == "" })
	if err != nil || len(r.mem.with) == 0 {
		return err
	}
	return r.loadTogether(ctx)
}

func (r *restoration) loadKeys(ctx context.Context, chosen func(key string) bool) error {
	return r.eachSection(ctx, chosen, func(e entry, section *container.SectionReader) error {
		r.reg.touch(e.key)
		if desc := section.Info().Desc; r.inBoxes(desc) {
			return e.value.(cptypes.BoxReader).ReadBox(desc, section)
		}
		return cptypes.ReadSection(ctx, e.value, section)
	})
}

// inBoxes reports whether a value is put together from boxes of several parts.
func (r *restoration) inBoxes(stored container.Desc) bool {
	return r.redistribute && stored.Dist == container.Partitioned
}

// eachSection hands to do what is stored of chosen values: all of one, or each box that
// overlaps with what this rank holds now.
func (r *restoration) eachSection(ctx context.Context, chosen func(key string) bool, do func(entry, *container.SectionReader) error) error {
	for _, e := range r.reg.entries {
		info, ok := r.mem.stored[e.key]
		if !ok || !chosen(e.key) || r.inBoxes(info.Desc) {
			continue
		}
		if err := r.withSection(ctx, e.key, func(section *container.SectionReader) error { return do(e, section) }); err != nil {
			return err
		}
	}
	if !r.redistribute {
		return nil
	}
	for _, part := range r.layout {
		if err := r.eachBox(ctx, part, chosen, do); err != nil {
			return err
		}
	}
	return nil
}

// keyed adds the key to an error that does not name it.
func keyed(key string, err error) error {
	var damage *container.DamageError
	if err == nil || errors.As(err, &damage) && damage.Section == key {
		return err
	}
	return &KeyError{Key: key, Err: err}
}

// withSection opens a whole value as it is stored, for as long as use takes.
func (r *restoration) withSection(ctx context.Context, key string, use func(*container.SectionReader) error) error {
	err := r.parts.WithSection(ctx, r.home.Header().Rank, key, use)
	if errors.Is(err, storage.ErrNoSection) {
		return &container.DamageError{Section: key, Reason: err.Error()}
	}
	return keyed(key, err)
}

// gatherLayout tells every rank the boxes of all parts; each has looked at its
// share of them.
func (r *restoration) gatherLayout(ctx context.Context) ([]partBoxes, error) {
	mine := r.layout
	if int(r.reg.comm.Rank()) >= r.from.Ranks {
		mine = nil // its home is another rank's share
	}
	all, err := fromAll(ctx, r.reg.core, mine)
	return slices.Concat(all...), err
}

// eachBox hands to do what a part has of chosen values that this rank holds now.
func (r *restoration) eachBox(ctx context.Context, part partBoxes, chosen func(key string) bool, do func(entry, *container.SectionReader) error) error {
	var wanted []entry
	for _, b := range part.Boxes {
		i, ok := r.reg.index[b.Key]
		if !ok || !chosen(b.Key) {
			continue
		}
		e := r.reg.entries[i]
		if _, overlap := cptypes.DescOf(e.value).Box.Intersect(b.Desc.Box); overlap {
			wanted = append(wanted, e)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return r.parts.With(ctx, part.Part, func(f *storage.File) error {
		for _, e := range wanted {
			section, ok := f.Section(e.key)
			if !ok {
				return &container.DamageError{Section: e.key, Reason: fmt.Sprintf("it is not in the part of rank %d", part.Part)}
			}
			if err := keyed(e.key, do(e, section)); err != nil {
				return err
			}
		}
		return nil
	})
}
