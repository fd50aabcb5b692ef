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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/placement"
)

// LevelConfig holds the settings of the storage levels (docs/storage.md).
type LevelConfig struct {
	Levels     string `envconfig:"LEVELS"`
	NodePath   string `envconfig:"NODE_PATH"`
	Racks      string `envconfig:"RACKS"`
	SetSize    int    `envconfig:"SET_SIZE" default:"4"`
	RSParity   int    `envconfig:"RS_PARITY" default:"2"`
	FlushLimit string `envconfig:"FLUSH_LIMIT" default:"0"`
}

func (c LevelConfig) validate() error {
	policy, err := c.policy()
	if err != nil {
		return err
	}
	if _, err := c.flushLimit(); err != nil {
		return err
	}
	if _, err := c.racks(); err != nil {
		return err
	}
	if c.SetSize < 2 || c.SetSize > 256 {
		return env.Invalid("CRAFT_SET_SIZE", strconv.Itoa(c.SetSize))
	}
	if c.RSParity < 1 || policy.Has(storage.RS) && c.RSParity >= c.SetSize {
		return fmt.Errorf("%w, and less than CRAFT_SET_SIZE (%d)", env.Invalid("CRAFT_RS_PARITY", strconv.Itoa(c.RSParity)), c.SetSize)
	}
	return nil
}

func (c LevelConfig) policy() (storage.Policy, error) {
	if c.Levels == "" {
		return nil, nil
	}
	p, err := storage.ParsePolicy(c.Levels)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", env.Invalid("CRAFT_LEVELS", c.Levels), err)
	}
	return p, nil
}

func (c LevelConfig) flushLimit() (int64, error) {
	var n env.Size
	if err := n.Decode(c.FlushLimit); err != nil {
		return 0, env.Invalid("CRAFT_FLUSH_LIMIT", c.FlushLimit)
	}
	return int64(n), nil
}

// racks reads which node is in which rack.
func (c LevelConfig) racks() (of map[string]string, err error) {
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
func (c LevelConfig) rack(host, dir string) string {
	of, _ := c.racks()
	return cmp.Or(of[filepath.Base(dir)], of[host])
}

// warnOfRacks tells which names of CRAFT_RACKS are of no node.
func (cp *Checkpoint) warnOfRacks() {
	of, _ := cp.opt.racks()
	for _, node := range cp.place.Nodes() {
		delete(of, node.Host)
		delete(of, filepath.Base(node.Dir))
	}
	if len(of) > 0 && cp.root() {
		cp.log.Warn("CRAFT_RACKS names what is no node of this job: a spare node, or the name is wrong (it is that of the host, or the last element of the node's directory)",
			"names", strings.Join(slices.Sorted(maps.Keys(of)), ","))
	}
}

// nodePath is the directory of this node.
func (c LevelConfig) nodePath() string {
	if c.NodePath != "" {
		return c.NodePath
	}
	return env.DefaultNodePath()
}

// leveled reports whether the checkpoint uses the storage of the nodes.
func (cp *Checkpoint) leveled() bool {
	policy, _ := cp.opt.policy()
	return cp.opt.UseSCR && policy.BelowHome()
}

// openLevels puts the levels between the checkpoint and its directory. It is
// collective.
func (cp *Checkpoint) openLevels(ctx context.Context) error {
	if !cp.leveled() {
		return nil
	}
	host, _ := os.Hostname()
	policy, _ := cp.opt.policy()
	limit, _ := cp.opt.flushLimit()
	root := cp.opt.nodePath()
	rack := cp.opt.rack(host, root)
	dir, err := cp.realDir()
	if _, err := cp.agree(ctx, err); err != nil {
		return err
	}
	s, err := placement.Open(ctx, placement.Config{
		Comm: cp.comm, Name: cp.name, Home: cp.home, Dir: dir, Policy: policy,
		SetSize: cp.opt.SetSize, Parity: cp.opt.RSParity, FlushLimit: limit, Flushed: cp.flushed.add,
		Sync: filestore.Sync(cp.opt.Sync), Log: cp.log, Root: root, Rack: rack, FS: cp.opt.nodeFS,
		Job: cp.opt.lock.Job, Late: cp.opt.late, Around: cp.threads.Do, MayWrite: cp.mayWrite,
	})
	if err != nil {
		return err
	}
	cp.place = s
	cp.warnOfRacks()
	if cp.root() && env.IsTemporaryNode(root) {
		cp.log.Warn("what is kept on the nodes ends with this job, as their directories are temporary: name lasting ones with CRAFT_NODE_PATH or craft run --node-path",
			"directory", root)
	}
	cp.store.Driver, cp.store.Possible = cp.levels(), s.Possible
	return cp.place.Survey(ctx)
}

// realDir is the checkpoint's directory without symbolic links: what the nodes have
// is found again whichever way one comes to it.
func (cp *Checkpoint) realDir() (string, error) {
	dir := cp.home.Dir()
	if cp.opt.fs != nil {
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

// levels is the placement with what only the parallel file system can do.
func (cp *Checkpoint) levels() storage.Driver {
	return struct {
		*placement.Placement
		homeAbilities
	}{cp.place, cp.home}
}

// homeAbilities are those of the parallel file system that the levels do not
// have.
type homeAbilities interface {
	storage.Locker
	storage.Announcer
	storage.Recorder
}

// closeTimeout is how long the others are waited for when the levels are closed: they
// may still be storing here. One that never comes, because this rank has left
// with an error, must not hold it up for long.
const closeTimeout = 10 * time.Second

// idleTimeout is how long nobody asks this rank for anything until it leaves without
// the others: they may be waiting in a collective call for this rank, which has
// left the program's loop with an error of its own. Not so while a version may be
// on its way, which others protect here.
const (
	idleTimeout = 2 * time.Second
	idleSteps   = 40
)

// whenIdle calls leave when none of the others has wanted anything for a while.
func (cp *Checkpoint) whenIdle(ctx context.Context, leave func()) {
	tick := time.NewTicker(idleTimeout / idleSteps)
	defer tick.Stop()
	for still := 0; still < idleSteps; still++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if cp.place.Serving() {
			still = 0
		}
	}
	leave()
}

// closeLevels ends the levels. The others are waited for as long as all is well;
// settled: they have nothing more to store here. The checkpoint keeps the closed
// placement: a background writer that hangs may still come to use it.
func (cp *Checkpoint) closeLevels(settled bool) {
	if cp.place == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(closeTimeout, cp.opt.DrainTimeout))
	var watching sync.WaitGroup
	watching.Go(func() { comm.WhenFailed(ctx, cp.comm, cancel) })
	if settled {
		watching.Go(func() { cp.whenIdle(ctx, cancel) })
	}
	if err := cp.place.Close(ctx); err != nil {
		cp.log.Debug("the levels were closed before those of other ranks", "error", err)
	}
	cancel()
	watching.Wait()
}

// skipPart tells the ranks that protect this one's part that none will come.
func (cp *Checkpoint) skipPart(h container.Header) {
	if cp.place == nil {
		return
	}
	id, part := storage.Identity(h)
	if err := cp.place.Skip(context.Background(), id, part); err != nil {
		cp.log.Debug("others may wait for a part that does not come", "version", h.Version, "error", err)
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

// outcome is what the levels say of this rank's part.
func (cp *Checkpoint) outcome(h container.Header, err error) placement.Outcome {
	if cp.place == nil {
		return placement.Outcome{}
	}
	id, _ := storage.Identity(h)
	return cp.place.Outcome(id, err == nil)
}

// settled tells the levels what has become of a version on all ranks.
func (cp *Checkpoint) settled(h container.Header, o placement.Outcome) {
	if cp.place == nil {
		return
	}
	cp.place.Settled(h, o)
}
