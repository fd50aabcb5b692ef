package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync/atomic"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
)

// checkpointDir is one checkpoint.
type checkpointDir struct {
	name  string // that its files must carry
	store checkpointStore
	fs    vfs.FS
	read  atomic.Int64 // bytes read of parts
}

// checkpointStore is a Store that says where it is.
type checkpointStore struct {
	*storage.Store

	files *filestore.Store
}

func (s checkpointStore) Dir() string { return s.files.Dir() }

func (p *program) openCheckpoint(dir string) (*checkpointDir, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &checkpointDir{name: filepath.Base(abs), fs: p.fs}
	files, err := filestore.New(filestore.Config{Path: parent(dir, abs), Name: c.name, FS: p.fs})
	if err != nil {
		return nil, err
	}
	store, err := storage.NewStore(&watchedDriver{Driver: files, read: &c.read}, container.Options{})
	if err != nil {
		return nil, err
	}
	c.store = checkpointStore{store, files}
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

// version is what can be said of a version without reading all of it.
type version struct {
	storage.Entry

	path  string
	bytes int64
	// header is that of the first part whose header is good; nil if there is
	// none, and err says why.
	header *container.Header
	err    error
	// newest: of the lineage that a restart would continue.
	newest bool
}

// versions lists what is there, oldest first. What vanishes meanwhile is left
// out: another process may be writing and deleting.
func (c *checkpointDir) versions(ctx context.Context) ([]version, error) {
	entries, err := c.store.List(ctx)
	if err != nil {
		return nil, err
	}
	var list []version
	for _, e := range entries {
		v := version{Entry: e, path: c.store.Path(e.ID)}
		if !c.inspect(ctx, &v) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	markNewestLineage(list)
	return list, nil
}

// inspect reads sizes and a header; false if the version has vanished.
func (c *checkpointDir) inspect(ctx context.Context, v *version) bool {
	for _, part := range v.Parts {
		info, err := c.fs.Stat(filepath.Join(v.path, part.String()))
		if err != nil {
			v.err = errors.Join(v.err, err)
			continue
		}
		v.bytes += info.Size()
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
	_, err := c.fs.Stat(c.store.Path(id))
	return !errors.Is(err, fs.ErrNotExist)
}

// markNewestLineage marks the versions of the lineage of the newest complete
// one: the only ones that a restart looks at.
func markNewestLineage(list []version) {
	at := newestComplete(list)
	for at >= 0 && (list[at].header == nil || !list[at].Complete()) {
		at--
	}
	if at < 0 {
		return
	}
	for i := range list {
		list[i].newest = list[i].header != nil && list[i].header.Lineage == list[at].header.Lineage
	}
}

// newestComplete is the index of the newest complete version, -1 if there is
// none.
func newestComplete(list []version) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Complete() {
			return i
		}
	}
	return -1
}

// state is such as "complete" or "3 of 4 parts".
func (v *version) state() string {
	switch size := v.Size(); {
	case size < 0:
		return "mixed parts"
	case size == 0:
		return "no parts"
	case v.Complete():
		return "complete"
	default:
		return fmt.Sprintf("%d of %d parts", len(v.Parts), size)
	}
}
