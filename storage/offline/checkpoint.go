package offline

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

type Checkpoint struct {
	Name  string // that its files must carry
	Store *Store
	Files *storage.Store // reads what Store has
	// OnRead, if it is not nil, is told how many bytes were read of a part, by several
	// goroutines at once.
	OnRead func(bytes int)
	// What lies beside the versions; nil: there is none, or unread says why it is not known.
	Manifest *manifest.Manifest // nil: no version was on nodes, or ManifestUnread
	Latest   *storage.Latest
	Runs     []storage.Record
	Marks    []storage.Mark   // of versions that are kept
	WayBack  *storage.WayBack // the last one
	Unread   []error
	// ManifestUnread says that there is a manifest that cannot be read: versions may be on nodes.
	ManifestUnread bool
}

// Open looks at a checkpoint's directory, and at those of its nodes that are on this
// machine. What it cannot read of them is in Unread.
func Open(ctx context.Context, fsys vfs.FS, dir string) (*Checkpoint, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Name: filepath.Base(abs)}
	files, err := filestore.New(filestore.Config{Path: Parent(dir, abs), Name: c.Name, FS: fsys})
	if err != nil {
		return nil, err
	}
	c.Store = &Store{Store: files, fs: fsys}
	c.Files, err = storage.NewStore(&watchedDriver{c.Store, c}, container.Options{})
	if err != nil {
		return nil, err
	}
	c.Manifest, err = ReadManifest(fsys, dir)
	c.ManifestUnread = err != nil
	var latest, runs, marks, back error
	c.Latest, latest = files.Announced(ctx)
	c.Runs, runs = files.Records(ctx)
	c.Marks, marks = filestore.MarksOf(files).List()
	c.WayBack, back = filestore.WayBackOf(files)
	c.Unread = slices.DeleteFunc([]error{err, latest, runs, marks, back}, func(err error) bool { return err == nil })
	if err := c.lookAtNodes(ctx); err != nil {
		return nil, err
	}
	for _, n := range c.Store.Nodes {
		if n.Unlisted {
			c.Unread = append(c.Unread, fmt.Errorf("what is in %s cannot be listed as a whole: %s", n.Dir, n.Reason))
		}
	}
	if o, err := nodelocal.ReadOwner(fsys, dir); err == nil {
		c.Name = o.Name // it is what one node has of a checkpoint
	}
	return c, nil
}

// watchedDriver tells of what is read and stops reading with the context of Open.
type watchedDriver struct {
	storage.Driver

	of *Checkpoint
}

func (d *watchedDriver) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	r, err := d.Driver.Open(ctx, id, part)
	if err != nil {
		return nil, err
	}
	return &watchedReader{PartReader: r, stopped: ctx.Err, onRead: d.of.OnRead}, nil
}

type watchedReader struct {
	storage.PartReader

	stopped func() error
	onRead  func(int)
}

func (r *watchedReader) ReadAt(p []byte, off int64) (int, error) {
	if err := r.stopped(); err != nil {
		return 0, err
	}
	n, err := r.PartReader.ReadAt(p, off)
	if r.onRead != nil {
		r.onRead(n)
	}
	return n, err
}

// Versions lists what is there, oldest first. What vanishes meanwhile is left
// out: another process may be writing and deleting.
func (c *Checkpoint) Versions(ctx context.Context) ([]Version, error) {
	list, err := c.settledVersions(ctx)
	if err != nil {
		return nil, err
	}
	list = c.addNoted(list)
	elsewhere := c.Store.anyNode(NodeElsewhere)
	readable := !elsewhere && !c.Store.anyNode(NodeUnusable)
	for i := range list {
		list[i].Elsewhere = elsewhere && !list[i].Complete() && list[i].mayBeOnNodes()
		if planned := list[i].Planned(); planned != nil && planned.BelowHome() != 0 && list[i].OnNodes > 0 && readable {
			reached := c.Store.reached(list[i].Entry, *planned)
			list[i].Reached = &reached
		}
	}
	c.addLineages(list)
	c.markLineages(list)
	return list, nil
}

// looks is how often a checkpoint is looked at that seems to have no complete version, or
// to have lost its newest one.
const looks = 100

// settledVersions lists what is there so that of a checkpoint which always has a complete
// version one is found, and none is missed for which a newer one is there: a job may delete a
// version between the list of the versions and that of its parts, or of other nodes, when the
// next one is not in the list yet. What is missing is so where two looks have found the same.
func (c *Checkpoint) settledVersions(ctx context.Context) ([]Version, error) {
	var before []Version
	for look := 1; ; look++ {
		list, vanished, err := c.presentVersions(ctx)
		settled := NewestComplete(list) >= 0 && c.Gone(list) == nil || look > 1 && !vanished && sameFiles(before, list)
		if err != nil || settled || look == looks {
			return list, err
		}
		before = list
		if err := c.lookAtNodes(ctx); err != nil {
			return nil, err
		}
	}
}

func sameFiles(a, b []Version) bool {
	return slices.EqualFunc(a, b, func(v, w Version) bool { return v.ID == w.ID && slices.Equal(v.Parts, w.Parts) })
}

// presentVersions lists what is there; vanished: a version was deleted meanwhile.
func (c *Checkpoint) presentVersions(ctx context.Context) (list []Version, vanished bool, err error) {
	entries, err := c.Files.List(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		v := Version{Entry: e, Path: c.Files.Path(e.ID)}
		v.Parts = e.Group()
		v.Strays = slices.DeleteFunc(slices.Clone(e.Parts), func(p storage.Part) bool { return slices.Contains(v.Parts, p) })
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

// addLineages finds out the lineages of versions, also of those whose headers cannot be read,
// as a restart does.
func (c *Checkpoint) addLineages(list []Version) {
	of := make(map[string]string) // by attempt
	for _, r := range c.Runs {
		of[r.Attempt] = r.Lineage
	}
	if c.Latest != nil {
		of[c.Latest.Attempt] = c.Latest.Lineage
	}
	for i := range list {
		if v := &list[i]; v.Header != nil {
			v.LineageText = hex.EncodeToString(v.Header.Lineage[:])
			of[hex.EncodeToString(v.ID.Attempt[:])] = v.LineageText
		}
	}
	for i := range list {
		switch v := &list[i]; {
		case v.Header != nil:
		case v.Noted != nil:
			v.LineageText = v.Noted.Lineage
		default:
			v.LineageText = of[hex.EncodeToString(v.ID.Attempt[:])]
		}
	}
}

// addNoted adds the newest version that the nodes had, if nothing of it or of a
// newer one can be seen from here.
func (c *Checkpoint) addNoted(list []Version) []Version {
	if c.Manifest == nil || c.Manifest.Newest == nil {
		return list
	}
	n := c.Manifest.Newest
	id, _ := storage.ParseID(n.Directory) // checked when it was read
	if i := slices.IndexFunc(list, func(v Version) bool { return v.ID == id }); i >= 0 {
		list[i].Noted = n
		return list
	}
	if len(list) > 0 && list[len(list)-1].ID.Version >= id.Version {
		return list
	}
	return append(list, Version{Entry: storage.Entry{ID: id}, Noted: n})
}

// inspect reads sizes and a header; false if the version has vanished.
func (c *Checkpoint) inspect(ctx context.Context, v *Version) bool {
	for _, part := range v.Parts {
		at, err := c.Store.Locate(ctx, v.ID, part)
		if err != nil {
			v.Err = errors.Join(v.Err, err)
			continue
		}
		v.Bytes += at.Size
		if at.home {
			v.Home++
		}
		if _, ok := c.Store.onNode(v.ID, part); ok {
			v.OnNodes++
		} else if at.rebuilt {
			v.Rebuilt++
		}
	}
	var bad error
	for _, part := range v.Parts {
		h, err := c.header(ctx, v.ID, part)
		if err == nil {
			v.Header = &h
			break
		}
		bad = cmp.Or(bad, err)
	}
	if v.Header == nil {
		v.Err = cmp.Or(bad, v.Err)
	}
	return v.Header != nil && v.Err == nil || c.Exists(v.ID)
}

// header reads a part's header. Where the checkpoint's directory is a symbolic
// link, programs may have written through it or to what it points to.
func (c *Checkpoint) header(ctx context.Context, id storage.ID, part storage.Part) (container.Header, error) {
	h, err := c.Files.Header(ctx, c.Name, id, part)
	if !errors.Is(err, storage.ErrDamaged) {
		return h, err
	}
	target, linkErr := filepath.EvalSymlinks(c.Store.Dir())
	if linkErr != nil || filepath.Base(target) == c.Name {
		return h, err
	}
	h, linkErr = c.Files.Header(ctx, filepath.Base(target), id, part)
	if linkErr != nil {
		return h, err
	}
	c.Name = filepath.Base(target)
	return h, nil
}

// Exists reports whether a version has not been deleted since it was listed.
func (c *Checkpoint) Exists(id storage.ID) bool {
	return slices.ContainsFunc(c.Store.paths(id), func(dir string) bool {
		_, err := c.Store.fs.Stat(dir)
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// PartPath is where a part is read from, or should be.
func (c *Checkpoint) PartPath(ctx context.Context, id storage.ID, part storage.Part) string {
	at, _ := c.Store.Locate(ctx, id, part) // the path is known in any case
	return at.Path
}

// Parent is the directory that a path is in, as short as the user wrote it.
func Parent(path, abs string) string {
	if path = filepath.Clean(path); filepath.Base(path) == filepath.Base(abs) {
		return filepath.Dir(path)
	}
	return filepath.Dir(abs)
}

// ErrElsewhere is returned when what is wanted may be on nodes that cannot be read from here.
var ErrElsewhere = errors.New("it may be on nodes that cannot be read from here")
