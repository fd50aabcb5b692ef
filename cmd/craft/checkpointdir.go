package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/nodelocal"
)

// checkpointDir is one checkpoint.
type checkpointDir struct {
	name  string // that its files must carry
	store checkpointStore
	fs    vfs.FS
	read  atomic.Int64 // bytes read of parts
	// What lies beside the versions; nil: there is none, or unread says why it is not
	// known.
	manifest *nodesManifest // nil: no version was on nodes, or manifestUnread
	latest   *storage.Latest
	runs     []storage.Record
	unread   []error
	// manifestUnread says that there is a note that cannot be read: versions may be on nodes.
	manifestUnread bool
}

// checkpointStore is a Store that says where it is.
type checkpointStore struct {
	*storage.Store

	at *multiStore
}

func (s checkpointStore) Dir() string { return s.at.Dir() }

func (p *program) openCheckpoint(ctx context.Context, dir string) (*checkpointDir, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &checkpointDir{name: filepath.Base(abs), fs: p.fs}
	files, err := filestore.New(filestore.Config{Path: parent(dir, abs), Name: c.name, FS: p.fs})
	if err != nil {
		return nil, err
	}
	at := &multiStore{Store: files, fs: p.fs}
	if c.manifest, err = readManifest(p.fs, dir); err != nil {
		c.manifestUnread = true
		c.unread = append(c.unread, err)
	}
	if c.latest, err = files.Announced(ctx); err != nil {
		c.unread = append(c.unread, err)
	}
	if c.runs, err = files.Records(ctx); err != nil {
		c.unread = append(c.unread, err)
	}
	if c.manifest != nil {
		if at.nodes, err = nodeDirs(ctx, p.fs, c.manifest); err != nil {
			return nil, err
		}
		for _, n := range at.nodes {
			if n.unlisted {
				c.unread = append(c.unread, fmt.Errorf("what is in %s cannot be listed as a whole: %s", n.Dir, n.Reason))
			}
		}
	}
	if o, err := nodelocal.ReadOwner(p.fs, dir); err == nil {
		c.name = o.Name // it is what one node has of a checkpoint
	}
	store, err := storage.NewStore(&watchedDriver{Driver: at, read: &c.read}, container.Options{})
	if err != nil {
		return nil, err
	}
	c.store = checkpointStore{store, at}
	return c, nil
}

// watchedDriver counts the bytes that are read and stops reading with the
// context of Open.
type watchedDriver struct {
	storage.Driver

	read *atomic.Int64
}

func (d *watchedDriver) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	r, err := d.Driver.Open(ctx, id, part)
	if err != nil {
		return nil, err
	}
	return &watchedReader{PartReader: r, stopped: ctx.Err, read: d.read}, nil
}

type watchedReader struct {
	storage.PartReader

	stopped func() error
	read    *atomic.Int64
}

func (r *watchedReader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.stopped(); err != nil {
		return 0, err
	}
	n, err := r.PartReader.ReadAt(p, off)
	r.read.Add(int64(n))
	return n, err
}

// versions lists what is there, oldest first. What vanishes meanwhile is left
// out: another process may be writing and deleting.
func (c *checkpointDir) versions(ctx context.Context) ([]version, error) {
	list, err := c.settledVersions(ctx)
	if err != nil {
		return nil, err
	}
	list = c.addNoted(list)
	elsewhere := anyNode(c.store.at.nodes, nodeElsewhere)
	readable := !elsewhere && !anyNode(c.store.at.nodes, nodeUnusable)
	for i := range list {
		list[i].elsewhere = elsewhere && !list[i].Complete() && list[i].mayBeOnNodes()
		if planned, ok := list[i].planned(); ok && planned.BelowHome() != 0 && list[i].onNodes > 0 && readable {
			reached := c.store.at.reached(list[i].Entry, planned)
			list[i].reached = &reached
		}
	}
	c.addLineages(list)
	c.markNewestLineage(list)
	c.markOtherBranches(list)
	return list, nil
}

// looks is how often a checkpoint is looked at that seems to have no complete version.
const looks = 100

// settledVersions lists what is there so that of a checkpoint which always has a
// complete version one is found: a job that keeps few may delete it between the list of
// the versions and that of its parts, when the next one is not in the list yet.
func (c *checkpointDir) settledVersions(ctx context.Context) ([]version, error) {
	for look := 1; ; look++ {
		list, vanished, err := c.presentVersions(ctx)
		if err != nil || newestComplete(list) >= 0 || look == looks || look > 1 && !vanished {
			return list, err
		}
		if c.manifest != nil {
			if c.store.at.nodes, err = nodeDirs(ctx, c.fs, c.manifest); err != nil {
				return nil, err
			}
		}
	}
}

// presentVersions lists what is there; vanished: a version was deleted meanwhile.
func (c *checkpointDir) presentVersions(ctx context.Context) (list []version, vanished bool, err error) {
	entries, err := c.store.List(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		v := version{Entry: e, path: c.store.Path(e.ID)}
		v.Parts = e.Group()
		v.strays = slices.DeleteFunc(slices.Clone(e.Parts), func(p storage.Part) bool { return slices.Contains(v.Parts, p) })
		if !c.inspect(ctx, &v) && len(v.Away) == 0 {
			vanished = true
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		list = append(list, v)
	}
	return list, vanished, nil
}

// addLineages finds out the lineages of versions whose headers cannot be read, as a
// restart does.
func (c *checkpointDir) addLineages(list []version) {
	of := make(map[string]string) // by attempt
	for _, r := range c.runs {
		of[r.Attempt] = r.Lineage
	}
	if c.latest != nil {
		of[c.latest.Attempt] = c.latest.Lineage
	}
	for i := range list {
		if v := &list[i]; v.header != nil {
			of[attemptHex(v.ID.Attempt)] = lineageHex(v.header.Lineage)
		}
	}
	for i := range list {
		list[i].told = of[attemptHex(list[i].ID.Attempt)]
	}
}

// addNoted adds the newest version that the nodes had, if nothing of it or of a
// newer one can be seen from here.
func (c *checkpointDir) addNoted(list []version) []version {
	if c.manifest == nil || c.manifest.Newest == nil {
		return list
	}
	n, id := c.manifest.Newest, c.manifest.newest
	for i := range list {
		if list[i].ID == id {
			list[i].noted = n
			return list
		}
	}
	if len(list) > 0 && list[len(list)-1].ID.Version >= id.Version {
		return list
	}
	return append(list, version{Entry: storage.Entry{ID: id}, noted: n})
}

// inspect reads sizes and a header; false if the version has vanished.
func (c *checkpointDir) inspect(ctx context.Context, v *version) bool {
	for _, part := range v.Parts {
		at, err := c.store.at.locate(ctx, v.ID, part)
		if err != nil {
			v.err = errors.Join(v.err, err)
			continue
		}
		v.bytes += at.size
		if at.home {
			v.home++
		}
		if _, ok := c.store.at.onNode(v.ID, part); ok {
			v.onNodes++
		} else if !at.home && at.kind == storage.KindParity {
			v.rebuilt++
		}
	}
	var bad error
	for _, part := range v.Parts {
		h, err := c.header(ctx, v.ID, part)
		if err == nil {
			v.header = &h
			break
		}
		if bad == nil {
			bad = err
		}
	}
	if v.header == nil && bad != nil {
		v.err = bad
	}
	if v.header == nil || v.err != nil {
		return c.exists(v.ID)
	}
	return true
}

// header reads a part's header. Where the checkpoint's directory is a symbolic
// link, programs may have written through it or to what it points to.
func (c *checkpointDir) header(ctx context.Context, id storage.ID, part storage.Part) (container.Header, error) {
	h, err := c.store.Header(ctx, c.name, id, part)
	if !errors.Is(err, storage.ErrDamaged) {
		return h, err
	}
	target, linkErr := filepath.EvalSymlinks(c.store.Dir())
	if linkErr != nil || filepath.Base(target) == c.name {
		return h, err
	}
	h, linkErr = c.store.Header(ctx, filepath.Base(target), id, part)
	if linkErr != nil {
		return h, err
	}
	c.name = filepath.Base(target)
	return h, nil
}

// exists reports whether a version has not been deleted since it was listed.
func (c *checkpointDir) exists(id storage.ID) bool {
	return slices.ContainsFunc(c.store.at.paths(id), func(dir string) bool {
		_, err := c.fs.Stat(dir)
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// partPath is where a part is read from, or should be.
func (c *checkpointDir) partPath(ctx context.Context, id storage.ID, part storage.Part) string {
	at, _ := c.store.at.locate(ctx, id, part) // the path is known in any case
	return at.path
}
