package offline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/nodelocal"
)

// Store is a checkpoint's directory together with those of its nodes that are on this machine.
// A part is read from the first place that has it: the parallel file system, a node, the copy
// on another node, or it is made from parity.
type Store struct {
	*filestore.Store

	fs    vfs.FS
	Nodes []*Node
	cat   *catalog.Catalog // of the last List; nil: nothing is on nodes
}

var _ storage.Driver = (*Store)(nil)

type Location struct {
	Path          string // of a file; of what parity makes: where the part should be
	Size          int64
	home, rebuilt bool // at home, or made from parity; else on a node
}

func (e *Store) List(ctx context.Context) ([]storage.Entry, error) {
	entries, err := e.Store.List(ctx)
	if err != nil || len(e.Nodes) == 0 {
		return entries, err
	}
	found := catalog.Findings{}
	found.List(entries)
	e.cat = catalog.New()
	e.cat.Merge(found, catalog.Home)
	for i, d := range e.Nodes {
		e.cat.Merge(d.findings(ctx), catalog.Place(i))
	}
	entries = entries[:0]
	for _, id := range e.cat.IDs() {
		entries = append(entries, e.withoutUnreadable(ctx, e.cat.Listed(id)))
	}
	return entries, ctx.Err()
}

// withoutUnreadable takes out the parts that only parity gives back where what that needs
// cannot be read now, or turns out to be less than the names of the files say.
func (e *Store) withoutUnreadable(ctx context.Context, entry storage.Entry) storage.Entry {
	var lost []error
	entry.Parts = slices.DeleteFunc(entry.Parts, func(part storage.Part) bool {
		if e.cat.Stored(entry.ID, part) || ctx.Err() != nil {
			return false
		}
		r, err := e.openRebuilt(ctx, entry.ID, part)
		if err == nil {
			if _, bad := container.Open(r, r.Size()); errors.Is(bad, erasure.ErrTooManyLost) {
				err = bad
			}
			_ = r.Close() // nothing was written
		}
		if err != nil {
			lost = append(lost, err)
		}
		return err != nil
	})
	if err := storage.JoinPlaces(lost...); storage.Passing(err) {
		entry.Away = append(entry.Away, err.Error())
	}
	return entry
}

// Open implements storage.Driver: in the first place that has the part, which may be wrong
// there.
func (e *Store) Open(ctx context.Context, id storage.ID, part storage.Part) (r storage.PartReader, err error) {
	for _, open := range e.places(ctx, id, part) {
		if r, err = open(); !errors.Is(err, storage.ErrNotFound) {
			return r, err
		}
	}
	return nil, err
}

type opener = func() (storage.PartReader, error)

// places are those that may have a part. The last one says where else it may be.
func (e *Store) places(ctx context.Context, id storage.ID, part storage.Part) []opener {
	if e.hasParity(id) {
		return append(e.asSuch(ctx, id, part), func() (storage.PartReader, error) { return e.openRebuilt(ctx, id, part) })
	}
	return append(e.asSuch(ctx, id, part), e.nowhere)
}

func (e *Store) nowhere() (storage.PartReader, error) {
	if e.anyNode(NodeElsewhere) {
		return nil, fmt.Errorf("%w on the parallel file system and on the nodes that can be read from here: %w", storage.ErrNotFound, ErrElsewhere)
	}
	return nil, storage.ErrNotFound
}

// asSuch are the places that may have the bytes of a part as such.
func (e *Store) asSuch(ctx context.Context, id storage.ID, part storage.Part) []opener {
	all := []opener{func() (storage.PartReader, error) { return e.Store.Open(ctx, id, part) }}
	for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy} {
		all = append(all, e.onNodes(ctx, storage.ObjectKey{ID: id, Kind: kind, Part: part})...)
	}
	return all
}

// onNodes are the nodes that may have an object.
func (e *Store) onNodes(ctx context.Context, key storage.ObjectKey) (all []opener) {
	for _, d := range e.Nodes {
		if d.Store != nil {
			all = append(all, func() (storage.PartReader, error) { return d.Store.OpenObject(ctx, key) })
		}
	}
	return all
}

func (e *Store) openRebuilt(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	return erasure.OpenRebuilt(ctx, id, part, func(ctx context.Context, key storage.ObjectKey) (storage.PartReader, error) {
		if key.Kind == storage.KindPart {
			return storage.OpenPlaces(ctx, append(e.asSuch(ctx, key.ID, key.Part), e.nowhere))
		}
		return storage.OpenPlaces(ctx, e.onNodes(ctx, key))
	})
}

func (e *Store) hasParity(id storage.ID) bool {
	parity := func(o nodelocal.Object) bool { return o.ID == id && o.Kind == storage.KindParity }
	return slices.ContainsFunc(e.Nodes, func(d *Node) bool { return slices.ContainsFunc(d.List, parity) })
}

// Path implements storage.Driver: the first place that has anything of the version.
func (e *Store) Path(id storage.ID) string {
	for _, dir := range e.paths(id) {
		if _, err := e.fs.Stat(dir); err == nil {
			return dir
		}
	}
	return e.Store.Path(id)
}

// paths are the directories in which a version may be.
func (e *Store) paths(id storage.ID) []string {
	out := []string{e.Store.Path(id)}
	for _, d := range e.Nodes {
		if d.Store != nil {
			out = append(out, filepath.Join(string(d.Dir), id.String()))
		}
	}
	return out
}

// Locate says where Open reads a part.
func (e *Store) Locate(ctx context.Context, id storage.ID, part storage.Part) (Location, error) {
	home := Location{Path: filepath.Join(e.Store.Path(id), part.String()), home: true}
	info, err := e.fs.Stat(home.Path)
	if err == nil {
		home.Size = info.Size()
		return home, nil
	}
	if len(e.Nodes) == 0 || !errors.Is(err, os.ErrNotExist) {
		return home, err
	}
	if at, ok := e.onNode(id, part); ok {
		return at, nil
	}
	if !e.hasParity(id) {
		return home, err
	}
	r, err := e.openRebuilt(ctx, id, part)
	if err != nil {
		return home, err
	}
	size := r.Size()
	return Location{Path: home.Path, Size: size, rebuilt: true}, r.Close()
}

// onNode finds a part, or a copy of it, on a node.
func (e *Store) onNode(id storage.ID, part storage.Part) (Location, bool) {
	for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy} {
		for _, d := range e.Nodes {
			key := storage.ObjectKey{ID: id, Kind: kind, Part: part}
			if size, ok := d.Sizes[key]; ok {
				return Location{Path: filepath.Join(string(d.Dir), key.Name()), Size: size}, true
			}
		}
	}
	return Location{}, false
}

// Holding is what one place has of a version.
type Holding struct {
	Host                  string // of a node; "": the parallel file system
	Dir                   string // of the version there
	Parts, Copies, Parity []int  // ranks
}

// Holdings are the places that have anything of a version that was listed, as far as they can
// be seen from here: the parallel file system, and then the nodes.
func (e *Store) Holdings(listed storage.Entry) (out []Holding) {
	id := listed.ID
	home := Holding{Dir: e.Store.Path(id)}
	for _, part := range listed.Parts {
		if e.cat == nil || e.cat.AtHome(id, part) {
			home.Parts = append(home.Parts, part.Rank)
		}
	}
	if len(home.Parts) > 0 {
		out = append(out, home)
	}
	for _, d := range e.Nodes {
		ranks := make(map[storage.Kind][]int)
		for _, o := range d.List {
			if o.ID == id {
				ranks[o.Kind] = append(ranks[o.Kind], o.Part.Rank)
			}
		}
		if len(ranks) > 0 {
			out = append(out, Holding{d.Host, d.Store.Path(id), ranks[storage.KindPart], ranks[storage.KindCopy], ranks[storage.KindParity]})
		}
	}
	return out
}

// reached are the levels that a version has on the nodes that can be seen from here, of
// those that were planned; none if they do not have all parts as such.
func (e *Store) reached(v storage.Entry, planned storage.Levels) storage.Levels {
	id := v.ID
	for _, part := range v.Parts {
		if !v.Complete() || len(e.cat.Nodes(catalog.PartOf(id, part))) == 0 {
			return 0
		}
	}
	f, _ := e.cat.Facts(id)
	e.cat.SetFacts(id, catalog.Facts{Plan: planned, Oldest: f.Oldest})
	// How many parities the job had asked for is not known here: what the level promises.
	return e.cat.Reached(id, len(e.Nodes), storage.RS.Survives.OfEachSet)
}

// Snapshot opens a version. Bytes that are wrong in one place are taken from the next, as in
// a restart with levels; the places are asked in the order of Files.
func (c *Checkpoint) Snapshot(v *Version) *storage.Snapshot {
	return &storage.Snapshot{Ranks: v.Size(), Open: func(ctx context.Context, part storage.Part) (*storage.File, error) {
		store, err := storage.NewStore(anywhere{c.Store}, container.Options{})
		if err != nil {
			return nil, err
		}
		return store.Open(ctx, c.Name, v.ID, part)
	}}
}

// anywhere is a Store whose readers know the other places of a part.
type anywhere struct{ *Store }

func (a anywhere) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	return storage.OpenPlaces(ctx, a.places(ctx, id, part))
}
