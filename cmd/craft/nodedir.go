package main

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
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// How a node's directory looks from this machine.
const (
	nodeHere      = "here"      // it is on this machine
	nodeElsewhere = "elsewhere" // on another one
	nodeGone      = "gone"      // it was on this machine
	nodeUnusable  = "unusable"  // it is on this machine, and cannot be read
)

// nodeDir is a node's directory for one checkpoint, as NODES.json names it.
type nodeDir struct {
	Host    string          `json:"host"`
	Dir     osstring.String `json:"directory"`
	Rack    string          `json:"rack,omitempty"`
	Ranks   []int           `json:"ranks"`
	State   string          `json:"state"`
	Reason  string          `json:"reason,omitempty"` // why it is unusable, which versions are not listed, or what it lacks
	Objects int             `json:"objects"`
	Bytes   int64           `json:"bytes"`

	store    *nodelocal.Store // nil unless it is here
	unlisted bool             // not all that is here can be listed
	list     []nodelocal.Object
	sizes    map[storage.ObjectKey]int64
}

// nodeDirs looks for the directories of a note on this machine. Several nodes
// may have given one path to theirs: on this machine it is that of one of them.
func nodeDirs(ctx context.Context, fsys vfs.FS, note *nodesManifest) ([]*nodeDir, error) {
	seen := make(map[string]*foundDir)
	var out []*nodeDir
	for _, n := range note.Nodes {
		d := &nodeDir{Host: n.Host, Dir: osstring.String(n.Dir), Rack: n.Rack, Ranks: n.Ranks}
		f := seen[n.Dir]
		if f == nil {
			f = findDir(fsys, n.Dir, note)
			f.only = 1 == count(note.Nodes, func(o manifest.Node) bool { return o.Dir == n.Dir })
			seen[n.Dir] = f
		}
		d.judge(f)
		if d.store != nil {
			if err := d.look(ctx); err != nil {
				return nil, err
			}
		}
		out = append(out, d)
	}
	return out, nil
}

func count(nodes []manifest.Node, fits func(manifest.Node) bool) (n int) {
	for _, node := range nodes {
		if fits(node) {
			n++
		}
	}
	return n
}

// foundDir is what is under the path of a node's directory on this machine.
type foundDir struct {
	store    *nodelocal.Store
	owner    nodelocal.Owner
	unsigned bool // nothing in it says whose it is
	only     bool // one node has this path
	err      error
}

func findDir(fsys vfs.FS, dir string, note *nodesManifest) *foundDir {
	f := new(foundDir)
	f.owner, f.err = nodelocal.ReadOwner(fsys, dir)
	switch {
	case errors.Is(f.err, fs.ErrNotExist):
		f.takeUnsigned(fsys, dir, note)
	case f.err != nil:
	case f.owner.ID != note.ID:
		f.err = fmt.Errorf("it is of another checkpoint or of an earlier one (identity %q, wanted is %q)", f.owner.ID, note.ID)
	default:
		f.store, f.err = nodelocal.Place{Dir: dir, Owner: f.owner}.Store(fsys)
	}
	return f
}

// takeUnsigned takes a directory that has lost OWNER.json as a start does, which signs it
// again: its name says that it is of this checkpoint.
func (f *foundDir) takeUnsigned(fsys vfs.FS, dir string, note *nodesManifest) {
	if _, err := fsys.Stat(dir); err != nil {
		return
	}
	s, err := nodelocal.New(nodelocal.Config{Root: filepath.Dir(dir), Name: note.Checkpoint, Home: note.home, ID: note.ID, FS: fsys})
	if err != nil || s.Dir() != dir {
		return
	}
	f.store, f.err, f.unsigned = s, nil, true
	f.owner.Host = nodelocal.ThisIdentity().Host
}

// judge says how the node looks from here.
func (d *nodeDir) judge(f *foundDir) {
	local := d.Host == nodelocal.ThisIdentity().Host
	gone := errors.Is(f.err, fs.ErrNotExist)
	switch {
	case f.err == nil && (d.Host == f.owner.Host || f.only):
		d.State, d.store = nodeHere, f.store
		if f.unsigned {
			d.Reason = "it has no " + nodelocal.OwnerName + ", which a start makes again"
		}
	case f.err == nil || gone && !local || !local && !f.only:
		d.State = nodeElsewhere
	case gone:
		d.State = nodeGone
	default:
		d.State, d.Reason = nodeUnusable, f.err.Error()
	}
}

// look lists what is there. What cannot be read is told, and does not count. The
// error is that of the context.
func (d *nodeDir) look(ctx context.Context) error {
	list, err := d.store.Inventory(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var unlisted *nodelocal.UnlistedError
	switch {
	case errors.As(err, &unlisted):
		d.Reason, d.unlisted = err.Error(), true
	case err != nil:
		d.State, d.Reason, d.store = nodeUnusable, err.Error(), nil
		return nil
	}
	d.list, d.Objects, d.Bytes = list, len(list), 0
	d.sizes = make(map[storage.ObjectKey]int64)
	for _, o := range list {
		d.Bytes += o.Size
		d.sizes[o.ObjectKey] = o.Size
	}
	return nil
}

// findings are what the node has, for a catalog.
func (d *nodeDir) findings(ctx context.Context) (f catalog.Findings) {
	for _, o := range d.list {
		f.Objects = append(f.Objects, o.ObjectKey)
		if o.Kind != storage.KindParity {
			continue
		}
		set, err := d.readSet(ctx, o.ObjectKey)
		switch {
		case err == nil:
			f.Sets = append(f.Sets, catalog.SetOf{ID: o.ID, Set: set})
		case storage.Passing(err) && !errors.Is(err, erasure.ErrMismatch):
			f.Away = append(f.Away, storage.Entry{ID: o.ID, Away: []string{fmt.Sprintf("on node %s a parity file cannot be read: %v", d.Host, err)}})
		}
	}
	return f
}

func (d *nodeDir) readSet(ctx context.Context, key storage.ObjectKey) (set catalog.Set, err error) {
	r, err := d.store.OpenObject(ctx, key)
	if err != nil {
		return set, err
	}
	defer r.Close() // nothing was written
	return erasure.ReadSet(r, key)
}

func anyNode(nodes []*nodeDir, state string) bool {
	return slices.ContainsFunc(nodes, func(d *nodeDir) bool { return d.State == state })
}

// remark says what is odd about the directories of nodes that are on this machine; of those
// of which not all can be listed it is said elsewhere.
func (p *program) remark(checkpoint string, nodes []*nodeDir) {
	for _, d := range nodes[:min(mostNodes, len(nodes))] {
		switch {
		case d.State == nodeUnusable:
			p.say("directory %s of checkpoint %s is not used: %s", d.Dir, checkpoint, d.Reason)
		case d.Reason != "" && !d.unlisted:
			p.say("directory %s of checkpoint %s: %s", d.Dir, checkpoint, d.Reason)
		}
	}
}
