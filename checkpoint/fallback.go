package checkpoint

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// What a version leaves in memory when it turns out to be damaged, the older version
// that is read in its place must write over, or two versions are mixed. An array that
// has the same extents in all of them is written over; such values are read at once.
// Of a struct, a map, a type of the program's own, of a key or a length that an older
// version has not, nothing says so; they are late: all ranks look at all their bytes
// before the first of them is changed (docs/decisions/0022).

// foresee finds out which values are late.
func (r *restoration) foresee(ctx context.Context) {
	r.mem.late = make(map[string]bool)
	if len(r.older) == 0 {
		return
	}
	for key, info := range r.mem.stored {
		r.mem.late[key] = info.Desc.Elem == container.Opaque
	}
	for _, p := range r.reg.overlaps.Find(r.reg.values, false, nil) {
		for _, i := range p { // what is read into one may be what another one was
			if _, ok := r.mem.stored[r.reg.entries[i].key]; ok {
				r.mem.late[r.reg.entries[i].key] = true
			}
		}
	}
	_, others, _ := r.reg.family()
	pairs, _ := r.reg.overlaps.Across(r.reg.values, others, false)
	for _, p := range pairs {
		if key := r.reg.entries[p[0]].key; !r.mem.late[key] {
			_, r.mem.late[key] = r.mem.stored[key]
		}
	}
	for _, c := range r.older {
		f, err := r.reg.store.Open(ctx, r.reg.name, c.ID, storage.Part{Rank: int(r.reg.comm.Rank()) % c.Ranks, Size: c.Ranks})
		for key, info := range r.mem.stored {
			r.mem.late[key] = r.mem.late[key] || err != nil || !writesOver(f, info)
		}
		if err != nil {
			return // it may be readable when its turn has come
		}
		_ = f.Close()
	}
}

// writesOver reports whether a part writes to all memory that another one has
// written to, which holds the array info.
func writesOver(f *storage.File, info container.Info) bool {
	s, ok := f.Section(info.Key)
	if !ok {
		return false
	}
	a, b := s.Info().Desc, info.Desc
	if a.Dist == container.Partitioned && b.Dist == a.Dist { // its box is the program's
		return a.Elem == b.Elem && slices.Equal(a.Global, b.Global)
	}
	return a.Elem == b.Elem && a.Dist == b.Dist && a.Type == b.Type && slices.Equal(a.Shape, b.Shape)
}

func (r *restoration) makeLateRooms(context.Context) error { return final(r.makeAllRooms(true)) }

func (r *restoration) loadLate(ctx context.Context) error { return final(r.loadThe(ctx, true)) }

// final makes damage an error that no older version is tried after.
func final(err error) error {
	if err == nil || judge(err) == failed {
		return err
	}
	return fmt.Errorf("bytes that were good are damaged or gone now, make the restart again: %s", err)
}

// verifyLate reads the stored bytes of the late values, and leaves these alone.
func (r *restoration) verifyLate(ctx context.Context) error {
	if r.adopts() {
		return nil
	}
	late := func(key string) bool { return r.mem.late[key] }
	return r.eachSection(ctx, late, func(_ entry, section *container.SectionReader) error {
		info := section.Info()
		buf := make([]byte, min(info.Size, 4*int64(info.ChunkSize))+1)
		// Discard would read in pieces of its own.
		_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, section.NewReader(ctx), buf)
		return err
	})
}

// UndefinedError is what RestartIfNeeded returns when it failed after it had begun to
// change values: those of these keys hold, on this rank, anything between what they
// were and what is stored. All others are as they were, but for values of checkpoints
// around this one that share memory with these.
type UndefinedError struct {
	Keys []string
	Err  error
}

func (e *UndefinedError) Error() string {
	return fmt.Sprintf("%v; undefined on this rank are now the values of %s", e.Err, join(e.Keys, ", ", strconv.Quote))
}

func (e *UndefinedError) Unwrap() error { return e.Err }
