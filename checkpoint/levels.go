package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/placement"
)

// levelConfig holds the settings of the storage levels (docs/storage.md).
type levelConfig struct {
	Levels     string   `envconfig:"LEVELS"`
	NodePath   string   `envconfig:"NODE_PATH"`
	Racks      string   `envconfig:"RACKS"`
	SetSize    int      `envconfig:"SET_SIZE" default:"4"`
	RSParity   int      `envconfig:"RS_PARITY" default:"2"`
	FlushLimit env.Size `envconfig:"FLUSH_LIMIT" default:"0"`
	MemCopies  int      `envconfig:"MEM_COPIES" default:"2"`
	MemLimit   env.Size `envconfig:"MEM_LIMIT" default:"0"`
}

func (c levelConfig) validate() error {
	policy, levels := c.policy()
	_, racks := c.racks()
	parity := allowIf(c.RSParity >= 1 && !(policy.Has(storage.RS) && c.RSParity >= c.SetSize), "CRAFT_RS_PARITY", c.RSParity)
	if parity != nil {
		parity = fmt.Errorf("%w, and less than CRAFT_SET_SIZE (%d)", parity, c.SetSize)
	}
	return cmp.Or(levels, racks, allowIf(c.MemCopies >= 2, "CRAFT_MEM_COPIES", c.MemCopies), allowIf(c.MemLimit >= 0, "CRAFT_MEM_LIMIT", c.MemLimit),
		allowIf(c.SetSize >= 2 && c.SetSize <= 256, "CRAFT_SET_SIZE", c.SetSize), parity)
}

func (c levelConfig) policy() (storage.Policy, error) {
	p, err := storage.ParsePolicy(c.Levels)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", env.Invalid("CRAFT_LEVELS", c.Levels), err)
	}
	return p, nil
}

func (c levelConfig) racks() (of map[string]string, err error) {
	if c.Racks == "" {
		return nil, nil
	}
	of = make(map[string]string)
	for field := range strings.SplitSeq(c.Racks, ",") {
		name, rack, ok := strings.Cut(strings.TrimSpace(field), "=")
		if !ok || name == "" || rack == "" {
			return nil, env.Invalid("CRAFT_RACKS", c.Racks)
		}
		if before, twice := of[name]; twice && before != rack {
			return nil, fmt.Errorf("%w: %s is in rack %s and in rack %s (a node is in one rack)", env.Invalid("CRAFT_RACKS", c.Racks), name, before, rack)
		}
		of[name] = rack
	}
	return of, nil
}

// rack finds the label of a node by its host name or, for several nodes on one
// host, by the last element of its directory, which says more.
func (c levelConfig) rack(host, dir string) string {
	of, _ := c.racks()
	return cmp.Or(of[filepath.Base(dir)], of[host])
}

// warnOfNodes tells which names of CRAFT_RACKS are of no node, and that the nodes'
// directories do not last.
func warnOfNodes(c *core) {
	of, _ := c.opt.racks()
	for _, node := range c.placement.Nodes() {
		delete(of, node.Host)
		delete(of, filepath.Base(node.Root()))
	}
	if len(of) > 0 {
		c.log.Warn("CRAFT_RACKS names what is no node of this job: a spare node, or the name is wrong (it is that of the host, or the last element of the node's directory)",
			"names", strings.Join(slices.Sorted(maps.Keys(of)), ","))
	}
	if root := c.opt.nodePath(); env.IsTemporaryNode(root) {
		c.log.Warn("what is kept on the nodes ends with this job, as their directories are temporary: name lasting ones with CRAFT_NODE_PATH or craft run --node-path",
			"directory", root)
	}
}

// nodePath is the directory of this node.
func (c levelConfig) nodePath() string { return cmp.Or(c.NodePath, env.DefaultNodePath()) }

// leveled reports whether the checkpoint uses the storage of the nodes.
func (c *core) leveled() bool {
	policy, _ := c.opt.policy()
	return c.opt.UseSCR && policy.BelowHome()
}

// openPlacement opens where versions go: the checkpoint's directory and, with levels, the
// nodes. It is collective. What the directory gets from the nodes is noted in upkeep.
func (st *starting) openPlacement(ctx context.Context) error {
	p := placement.Config{Dir: st.dir()}
	if st.leveled() {
		dir, err := realDir(st.core)
		if _, err := st.agree(ctx, err); err != nil {
			return err
		}
		p.Dir = dir
	}
	err := st.place(ctx, p)
	if err == nil && st.leveled() && st.root() {
		warnOfNodes(st.core)
	}
	return err
}

// place opens a placement, with what all of them have in common.
func (st *starting) place(ctx context.Context, p placement.Config) error {
	p.Comm, p.Name, p.Home, p.Log = st.comm, st.name, st.home, st.log
	if st.leveled() {
		p.Flushed = func(id storage.ID) {
			st.meet.tempo.Flushed(id)
			st.up.flushed.add(id)
		}
		p.Due = st.pace.levels
		configureNodes(st.core, &p)
	}
	s, err := placement.Open(ctx, p)
	if err != nil {
		return err
	}
	st.placement, st.store.Driver, st.store.Possible, st.placedAt = s, s, s.Possible, p.Dir
	return nil
}

// configureNodes adds what the settings say of the nodes.
func configureNodes(c *core, p *placement.Config) {
	host, _ := os.Hostname()
	p.Policy, _ = c.opt.policy()
	p.FlushLimit = int64(c.opt.FlushLimit)
	p.Root = c.opt.nodePath()
	p.Rack = c.opt.rack(host, p.Root)
	p.SetSize, p.Parity = c.opt.SetSize, c.opt.RSParity
	p.MemoryCopies, p.MemoryLimit, p.BeforeMemory = c.opt.MemCopies, int64(c.opt.MemLimit), c.opt.beforeMemory
	p.Sync, p.FS = filestore.Sync(c.opt.Sync), c.opt.nodeFS
	p.Job, p.Late = c.opt.lock.Job, c.opt.late
	p.Around, p.MayWrite = c.threads.Do, c.mayWrite
}

// realDir is the checkpoint's directory without symbolic links: what the nodes have
// is found again whichever way one comes to it.
func realDir(c *core) (string, error) {
	dir := c.dir()
	if c.opt.fs != nil {
		return dir, nil
	}
	path, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) { // rank 0 has made it, and it cannot be seen here yet
		path, err = filepath.EvalSymlinks(filepath.Dir(dir))
		path = filepath.Join(path, filepath.Base(dir))
	}
	if errors.Is(err, fs.ErrNotExist) { // who writes there will say so
		return dir, nil
	}
	return path, err
}

// closeTimeout is how long the others are waited for when the levels are closed: they
// may still be storing here. One that never comes, because this rank has left
// with an error, must not hold it up for long.
const closeTimeout = 10 * time.Second

// idleTimeout is how long nobody asks this rank for anything until it leaves without
// the others: they may be waiting in a collective call for this rank, which has
// left the program's loop with an error of its own. Not so while a version may be
// on its way, which others protect here.
const idleTimeout = 2 * time.Second

// closePlacement ends the levels. The others are waited for as long as all is well;
// settled: they have nothing more to store here. The closed placement stays where it is:
// a background writer that hangs may still come to use it.
func closePlacement(c *core, settled bool) {
	if c.placement == nil || !c.placement.OnNodes() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(closeTimeout, c.opt.DrainTimeout))
	if settled {
		defer c.placement.WhenIdle(idleTimeout, cancel)()
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-c.comm.FailureKnown():
			cancel()
		case <-ctx.Done():
		}
	})
	if err := c.placement.Close(ctx); err != nil {
		c.log.Debug("the levels were closed before those of other ranks", "error", err)
	}
	cancel()
	watching.Wait()
}

// skipPart tells the ranks that protect this one's part that none will come.
func (c *core) skipPart(h container.Header) {
	id, part := storage.Identity(h)
	if err := c.placement.Skip(context.Background(), id, part); err != nil {
		c.log.Debug("others may wait for a part that does not come", "version", h.Version, "error", err)
	}
}

// disagreed is an error of the levels: one about the place of a part is of ranks that
// disagree.
func disagreed(err error) error {
	var astray *placement.PlaceError
	if errors.As(err, &astray) {
		return fmt.Errorf("%w: %w", ErrDisagree, err)
	}
	return err
}
