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

// load reads the values that are not late.
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

// loadKeys reads chosen values.
func (r *restoration) loadKeys(ctx context.Context, chosen func(key string) bool) error {
	for _, e := range r.reg.entries {
		info, ok := r.mem.stored[e.key]
		if !ok || !chosen(e.key) || info.Desc.Dist == container.Partitioned && r.redistribute {
			continue
		}
		r.reg.touch(e.key)
		err := r.withSection(ctx, e.key, func(section *container.SectionReader) error { return cptypes.ReadSection(ctx, e.value, section) })
		if err != nil {
			return keyed(e.key, err)
		}
	}
	if !r.redistribute {
		return nil
	}
	return r.eachBox(ctx, chosen, func(b keyDesc, section *container.SectionReader) error {
		r.reg.touch(b.Key)
		return r.reg.entries[r.reg.index[b.Key]].value.(cptypes.BoxReader).ReadBox(b.Desc, section)
	})
}

// keyed adds the key to an error that does not name it.
func keyed(key string, err error) error {
	var damage *container.DamageError
	if errors.As(err, &damage) && damage.Section == key {
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
	return err
}

// eachBox hands to do the stored boxes of chosen partitioned values that overlap with
// what this rank holds now.
func (r *restoration) eachBox(ctx context.Context, chosen func(key string) bool, do func(keyDesc, *container.SectionReader) error) error {
	for _, part := range r.layout {
		wanted := r.overlapping(part, chosen)
		if len(wanted) == 0 {
			continue
		}
		if err := r.eachBoxOf(ctx, part.Part, wanted, do); err != nil {
			return err
		}
	}
	return nil
}

// gatherLayout tells every rank the boxes of all parts; each has looked at its
// share of them.
func (r *restoration) gatherLayout(ctx context.Context) ([]partBoxes, error) {
	mine := r.layout
	if int(r.core.comm.Rank()) >= r.from.Ranks {
		mine = nil // its home is another rank's share
	}
	all, err := fromAll(ctx, r.core, mine)
	return slices.Concat(all...), err
}

func (r *restoration) overlapping(part partBoxes, chosen func(key string) bool) []keyDesc {
	var out []keyDesc
	for _, b := range part.Boxes {
		i, ok := r.reg.index[b.Key]
		if !ok || !chosen(b.Key) {
			continue
		}
		if _, overlap := cptypes.DescOf(r.reg.entries[i].value).Box.Intersect(b.Desc.Box); overlap {
			out = append(out, b)
		}
	}
	return out
}

func (r *restoration) eachBoxOf(ctx context.Context, part int, wanted []keyDesc, do func(keyDesc, *container.SectionReader) error) error {
	return r.parts.With(ctx, part, func(f *storage.File) error {
		for _, b := range wanted {
			section, ok := f.Section(b.Key)
			if !ok {
				return &container.DamageError{Section: b.Key, Reason: fmt.Sprintf("it is not in the part of rank %d", part)}
			}
			if err := do(b, section); err != nil {
				return keyed(b.Key, err)
			}
		}
		return nil
	})
}
