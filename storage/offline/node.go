package offline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// How a node's directory looks from this machine.
const (
	NodeHere      = "here"      // it is on this machine
	NodeElsewhere = "elsewhere" // on another one
	NodeGone      = "gone"      // it was on this machine
	NodeUnusable  = "unusable"  // it is on this machine, and cannot be read
)

// Node is a node's directory for one checkpoint, as NODES.json names it.
type Node struct {
	Host    string          `json:"host"`
	Dir     osstring.String `json:"directory"`
	Rack    string          `json:"rack,omitempty"`
	Ranks   []int           `json:"ranks"`
	State   string          `json:"state"`
	Reason  string          `json:"reason,omitempty"` // why it is unusable, which versions are not listed, or what it lacks
	Objects int             `json:"objects"`
	Bytes   int64           `json:"bytes"`

	Store    *nodelocal.Store            `json:"-"` // nil unless it is here
	Unlisted bool                        `json:"-"` // not all that is here can be listed
	List     []nodelocal.Object          `json:"-"`
	Sizes    map[storage.ObjectKey]int64 `json:"-"`
}

// lookAtNodes looks for the directories of the manifest on this machine. Several nodes
// may have given one path to theirs: on this machine it is that of one of them.
func (c *Checkpoint) lookAtNodes(ctx context.Context) error {
	if c.Manifest == nil {
		return nil
	}
	found := make(map[osstring.String]*foundDir)
	for _, n := range c.Manifest.Nodes {
		if f := found[n.Dir]; f != nil {
			f.only = false
		} else {
			found[n.Dir] = c.findDir(string(n.Dir))
		}
	}
	c.Store.Nodes = nil
	for _, n := range c.Manifest.Nodes {
		d := &Node{Host: n.Host, Dir: n.Dir, Rack: n.Rack, Ranks: n.Ranks}
		d.judge(found[n.Dir])
		if err := d.look(ctx); err != nil {
			return err
		}
		c.Store.Nodes = append(c.Store.Nodes, d)
	}
	return nil
}

// foundDir is what is under the path of a node's directory on this machine.
type foundDir struct {
	store    *nodelocal.Store
	owner    nodelocal.Owner
	unsigned bool // nothing in it says whose it is
	only     bool // one node has this path
	err      error
}

func (c *Checkpoint) findDir(dir string) *foundDir {
	f := &foundDir{only: true}
	f.owner, f.err = nodelocal.ReadOwner(c.Store.fs, dir)
	switch {
	case errors.Is(f.err, fs.ErrNotExist):
		c.takeUnsigned(f, dir)
	case f.err != nil:
	case f.owner.ID != c.Manifest.ID:
		f.err = fmt.Errorf("it is of another checkpoint or of an earlier one (identity %q, wanted is %q)", f.owner.ID, c.Manifest.ID)
	default:
		f.store, f.err = nodelocal.Place{Dir: dir, Owner: f.owner}.Store(c.Store.fs)
	}
	return f
}

// takeUnsigned takes a directory that has lost OWNER.json as a start does, which signs it
// again: its name says that it is of this checkpoint.
func (c *Checkpoint) takeUnsigned(f *foundDir, dir string) {
	if _, err := c.Store.fs.Stat(dir); err != nil {
		return
	}
	s, err := nodelocal.New(nodelocal.Config{Root: filepath.Dir(dir), Name: c.Manifest.Checkpoint, Home: c.Store.Dir(), ID: c.Manifest.ID, FS: c.Store.fs})
	if err != nil || s.Dir() != dir {
		return
	}
	f.store, f.err, f.unsigned = s, nil, true
	f.owner.Host = nodelocal.ThisIdentity().Host
}

// judge says how the node looks from here.
func (d *Node) judge(f *foundDir) {
	local := d.Host == nodelocal.ThisIdentity().Host
	gone := errors.Is(f.err, fs.ErrNotExist)
	switch {
	case f.err == nil && (d.Host == f.owner.Host || f.only):
		d.State, d.Store = NodeHere, f.store
		if f.unsigned {
			d.Reason = "it has no " + nodelocal.OwnerName + ", which a start makes again"
		}
	case f.err == nil || gone && !local || !local && !f.only:
		d.State = NodeElsewhere
	case gone:
		d.State = NodeGone
	default:
		d.State, d.Reason = NodeUnusable, f.err.Error()
	}
}

// look lists what is there, if it is here. What cannot be read is told, and does not count.
// The error is that of the context.
func (d *Node) look(ctx context.Context) error {
	if d.Store == nil {
		return nil
	}
	list, err := d.Store.Inventory(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var unlisted *nodelocal.UnlistedError
	switch {
	case errors.As(err, &unlisted):
		d.Reason, d.Unlisted = err.Error(), true
	case err != nil:
		d.State, d.Reason, d.Store = NodeUnusable, err.Error(), nil
		return nil
	}
	d.List, d.Objects, d.Sizes = list, len(list), make(map[storage.ObjectKey]int64)
	for _, o := range list {
		d.Bytes += o.Size
		d.Sizes[o.ObjectKey] = o.Size
	}
	return nil
}

func (d *Node) findings(ctx context.Context) catalog.Findings {
	return erasure.Findings(ctx, d.Host, d.List, d.Store.OpenObject, func(storage.ObjectKey, error) {})
}

func (e *Store) anyNode(state string) bool {
	return slices.ContainsFunc(e.Nodes, func(d *Node) bool { return d.State == state })
}

// ReadManifest reads what NODES.json in a checkpoint's directory says of the nodes that hold
// versions of it; nil if there is none: no version was on nodes.
func ReadManifest(fsys vfs.Reader, dir string) (*manifest.Manifest, error) {
	data, err := filestore.ReadMetadata(fsys, dir, manifest.Name)
	if data == nil || err != nil {
		return nil, err
	}
	m, err := manifest.Parse(data)
	if err == nil && m.Newest != nil {
		if _, ok := storage.ParseID(m.Newest.Directory); !ok {
			err = fmt.Errorf("%q is no name of a version", m.Newest.Directory)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be understood, so what nodes hold is not known: %w", filepath.Join(dir, manifest.Name), err)
	}
	return &m, nil
}
