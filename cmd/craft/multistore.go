package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/filestore"
)

// multiStore is a checkpoint's directory together with those of its nodes that
// are on this machine. A part is read from the first place that has it: the
// parallel file system, a node, the copy on another node, or it is made from
// parity.
type multiStore struct {
	*filestore.Store

	fs    vfs.FS
	nodes []*nodeDir
}

var _ storage.Driver = (*multiStore)(nil)

// location is where a part is read from.
type location struct {
	path string // of a file; of what parity makes: where the part should be
	size int64
	home bool
	kind storage.Kind // on a node; KindParity: it is made from parity
}

// List implements storage.Driver.
func (e *multiStore) List(ctx context.Context) ([]storage.Entry, error) {
	entries, err := e.Store.List(ctx)
	if err != nil || len(e.nodes) == 0 {
		return entries, err
	}
	at := make(map[storage.ID]map[storage.Part]bool)
	enter := func(id storage.ID) map[storage.Part]bool {
		if at[id] == nil {
			at[id] = make(map[storage.Part]bool)
		}
		return at[id]
	}
	away := make(map[storage.ID][]string)
	for _, entry := range entries {
		have := enter(entry.ID)
		away[entry.ID] = entry.Away
		for _, part := range entry.Parts {
			have[part] = true
		}
	}
	protected := make(map[storage.ID]map[storage.Part]bool)
	for _, d := range e.nodes {
		for _, o := range d.list {
			if have := enter(o.ID); o.Kind != storage.KindParity {
				have[o.Part] = true
				continue
			}
			if protected[o.ID] == nil {
				protected[o.ID] = make(map[storage.Part]bool)
			}
			members, err := d.membersOf(ctx, o.ObjectKey)
			if storage.Passing(err) {
				away[o.ID] = append(away[o.ID], fmt.Sprintf("on node %s a parity file cannot be read: %v", d.Host, err))
			}
			for _, rank := range members {
				protected[o.ID][storage.Part{Rank: rank, Size: o.Part.Size}] = true
			}
		}
	}
	for id, members := range protected {
		if err := e.addRebuilt(ctx, id, members, at[id]); storage.Passing(err) {
			away[id] = append(away[id], err.Error())
		}
	}
	entries = entries[:0]
	for id, have := range at {
		entry := storage.Entry{ID: id, Away: away[id]}
		for part := range have {
			entry.Parts = append(entry.Parts, part)
		}
		entries = append(entries, entry)
	}
	storage.SortEntries(entries)
	return entries, ctx.Err()
}

// addRebuilt adds the parts that parity gives back, of those that it protects, and returns
// why it does not give back others.
func (e *multiStore) addRebuilt(ctx context.Context, id storage.ID, members, have map[storage.Part]bool) error {
	var lost []error
	var found []storage.Part
	for part := range members {
		if have[part] || ctx.Err() != nil {
			continue
		}
		r, err := e.openRebuilt(ctx, id, part)
		if err != nil {
			lost = append(lost, err)
			continue
		}
		if _, err := container.Open(r, r.Size()); errors.Is(err, erasure.ErrTooManyLost) {
			lost = append(lost, err)
		} else {
			found = append(found, part)
		}
		_ = r.Close() // nothing was written
	}
	for _, part := range found {
		have[part] = true
	}
	return storage.JoinPlaces(lost...)
}

// Open implements storage.Driver.
func (e *multiStore) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	r, err := e.openStored(ctx, id, part)
	if !errors.Is(err, storage.ErrNotFound) || !e.hasParity(id) {
		return r, err
	}
	return e.openRebuilt(ctx, id, part)
}

// openStored opens a part whose bytes are somewhere as such.
func (e *multiStore) openStored(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	r, err := e.Store.Open(ctx, id, part)
	for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy} {
		for _, d := range e.nodes {
			if !errors.Is(err, storage.ErrNotFound) {
				return r, err
			}
			if d.store != nil {
				r, err = d.store.OpenObject(ctx, storage.ObjectKey{ID: id, Kind: kind, Part: part})
			}
		}
	}
	if errors.Is(err, storage.ErrNotFound) && anyNode(e.nodes, nodeElsewhere) {
		return nil, fmt.Errorf("%w on the parallel file system and on the nodes that can be read from here: %w", storage.ErrNotFound, errElsewhere)
	}
	return r, err
}

func (e *multiStore) openRebuilt(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	return erasure.OpenRebuilt(ctx, id, part, func(ctx context.Context, key storage.ObjectKey) (storage.PartReader, error) {
		if key.Kind == storage.KindPart {
			return e.openStored(ctx, key.ID, key.Part)
		}
		for _, d := range e.nodes {
			if d.store == nil {
				continue
			}
			if r, err := d.store.OpenObject(ctx, key); !errors.Is(err, storage.ErrNotFound) {
				return r, err
			}
		}
		return nil, storage.ErrNotFound
	})
}

func (e *multiStore) hasParity(id storage.ID) bool {
	return slices.ContainsFunc(e.nodes, func(d *nodeDir) bool { return d.protected[id] })
}

// Path implements storage.Driver: the first place that has anything of the
// version.
func (e *multiStore) Path(id storage.ID) string {
	home := e.Store.Path(id)
	for _, dir := range e.paths(id) {
		if _, err := e.fs.Stat(dir); err == nil {
			return dir
		}
	}
	return home
}

// paths are the directories in which a version may be.
func (e *multiStore) paths(id storage.ID) []string {
	out := []string{e.Store.Path(id)}
	for _, d := range e.nodes {
		if d.store != nil {
			out = append(out, filepath.Join(string(d.Dir), id.String()))
		}
	}
	return out
}

// locate says where Open reads a part.
func (e *multiStore) locate(ctx context.Context, id storage.ID, part storage.Part) (location, error) {
	home := filepath.Join(e.Store.Path(id), part.String())
	info, err := e.fs.Stat(home)
	if err == nil {
		return location{path: home, size: info.Size(), home: true}, nil
	}
	if len(e.nodes) == 0 || !errors.Is(err, os.ErrNotExist) {
		return location{path: home, home: true}, err
	}
	if at, ok := e.onNode(id, part); ok {
		return at, nil
	}
	if !e.hasParity(id) {
		return location{path: home, home: true}, err
	}
	r, err := e.openRebuilt(ctx, id, part)
	if err != nil {
		return location{path: home, home: true}, err
	}
	size := r.Size()
	return location{path: home, size: size, kind: storage.KindParity}, r.Close()
}

// onNode finds a part, or a copy of it, on a node.
func (e *multiStore) onNode(id storage.ID, part storage.Part) (location, bool) {
	for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy} {
		for _, d := range e.nodes {
			key := storage.ObjectKey{ID: id, Kind: kind, Part: part}
			if size, ok := d.sizes[key]; ok {
				return location{path: filepath.Join(string(d.Dir), key.Name()), size: size, kind: kind}, true
			}
		}
	}
	return location{}, false
}

// holding is what one node has of a version.
type holding struct {
	*nodeDir

	parts, copies, parity []int // ranks
}

// holdings are the nodes that have anything of a version, as far as they can be
// seen from here.
func (e *multiStore) holdings(id storage.ID) []holding {
	var out []holding
	for _, d := range e.nodes {
		h := holding{nodeDir: d}
		for _, o := range d.list {
			if o.ID != id {
				continue
			}
			switch o.Kind {
			case storage.KindPart:
				h.parts = append(h.parts, o.Part.Rank)
			case storage.KindCopy:
				h.copies = append(h.copies, o.Part.Rank)
			case storage.KindParity:
				h.parity = append(h.parity, o.Part.Rank)
			}
		}
		if len(h.parts)+len(h.copies)+len(h.parity) > 0 {
			out = append(out, h)
		}
	}
	return out
}

// reached are the levels that a version has on the nodes that can be seen from here, of
// those that were planned; none if they do not have all parts as such.
func (e *multiStore) reached(id storage.ID, size int, planned storage.Levels) storage.Levels {
	parts, copies, parity := make(map[int]bool), make(map[int]bool), make(map[int]bool)
	for _, h := range e.holdings(id) {
		enter(parts, h.parts)
		enter(copies, h.copies)
		enter(parity, h.parity)
	}
	if size <= 0 || len(parts) < size {
		return 0
	}
	reached := storage.LevelsOf(storage.Local)
	for l := range planned.On(storage.TierNode).All() {
		switch {
		case l.Redundancy == storage.Parity && len(parity) == size, l.Redundancy == storage.Copies && len(copies) == size:
			reached = reached.With(storage.LevelsOf(l))
		case l.Redundancy == storage.Parity && len(copies) == size:
			reached = reached.With(storage.LevelsOf(storage.Partner))
		}
	}
	return reached
}

func enter(set map[int]bool, ranks []int) {
	for _, r := range ranks {
		set[r] = true
	}
}
