package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft"
	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

const (
	disasterRanks = 8
	disasterNodes = 4
	disasterCells = disasterRanks * 1500 // some chunks for each rank
	disasterEnd   = 7                    // iterations
)

// errLost is what the files of a lost node say to processes that are dead.
var errLost = errors.New("the node is lost")

// loss is the end of a node: its processes die and its storage is gone.
type loss struct {
	node int // that on which the job began; of one that was lost the node in its place
	// after is the number of operations on the node's files, from when the loss
	// is armed; 0: together with the loss before.
	after int
	// later: it is armed not by the loss before, but when there is a new version
	// that survives it.
	later bool
}

// world is a job of 8 ranks on 4 nodes whose storage is in memory, and the
// parallel file system. A loss happens before an exact operation on the files of
// the node: from then on no process of the node does anything.
type world struct {
	levels, mode string
	inPlace      bool // the job recovers; otherwise it is started anew
	options      []Option
	armAt        int  // iteration whose write is the first to be disturbed
	wide         bool // losses happen at any later time, not only during that write
	end          int  // iterations
	// least is the level that survives the losses; beyond: none does.
	least  storage.Level
	beyond bool
	final  func(p *disasterProgram) error
	onArm  func()

	cluster *afttest.Cluster
	home    *vfs.Mem
	log     syncBuffer

	// fault lets operations on the files of nodes fail; nil: none.
	fault func(node int, op vfs.Op) error

	mu       sync.Mutex
	lives    []*life       // by the cluster's node: the present one
	stands   map[int]*life // by the node on which the job began
	pending  []loss        // the first one is armed if armed is set
	armed    bool
	left     int // operations up to the first one
	kill     func(node int)
	done     [disasterRanks]int64 // the newest iteration whose version was there, as each rank knows
	known    [disasterRanks]int64 // the same, of any level
	safe     int64                // the newest one that all knew of when a node was lost
	ends     []string             // what the lost nodes were about to do
	restores int
	restart  int64            // the iteration that was restored at last
	flushed  int64            // the newest one that was on the parallel file system when a node was lost
	iters    map[uint64]int64 // of versions
	touched  string           // what was done to a version at home
	jobs     int
}

// life is a node until it is lost.
type life struct {
	w      *world
	node   int
	mem    *vfs.Mem
	lost   bool          // guarded by w.mu
	killed chan struct{} // closed when its processes are dead
}

func newWorld(levels, mode string, inPlace bool, losses ...loss) *world {
	w := &world{levels: levels, mode: mode, inPlace: inPlace, armAt: 3, end: disasterEnd, home: vfs.NewMem(), pending: losses, safe: -1, flushed: -1, restart: -1, iters: make(map[uint64]int64), stands: make(map[int]*life)}
	if policy, _ := storage.ParsePolicy(levels); policy.On(storage.TierMemory) { // which ends with the job
		w.inPlace = true
	}
	w.cluster = &afttest.Cluster{Nodes: disasterNodes, Spares: len(losses), OnLoss: w.gone}
	for n := range disasterNodes + len(losses) {
		w.lives = append(w.lives, w.newLife(n))
	}
	for r := range w.done {
		w.done[r], w.known[r] = -1, -1
	}
	return w
}

func (w *world) newLife(node int) *life {
	return &life{w: w, node: node, mem: vfs.NewMem(), killed: make(chan struct{})}
}

// operation is asked before everything that the processes of a node do with its
// files.
func (l *life) operation(op vfs.Op) error {
	w := l.w
	w.mu.Lock()
	if !l.lost && w.armed && w.stands[w.pending[0].node] == l {
		if w.left--; w.left == 0 {
			lost, kill := w.lose(op), w.kill
			w.mu.Unlock()
			for _, node := range lost {
				kill(node)
			}
			return errLost
		}
	}
	defer w.mu.Unlock()
	if err := l.check(); err != nil || w.fault == nil {
		return err
	}
	return w.fault(l.node, op)
}

// inMemory is asked before everything that happens in the memory of a rank of the node.
func (l *life) inMemory(operation string, key storage.ObjectKey) error {
	kind := map[string]vfs.OpKind{"open": vfs.OpOpen, "create": vfs.OpCreate, "write": vfs.OpWrite, "commit": vfs.OpRename}[operation]
	return l.operation(vfs.Op{Kind: kind, Path: "memory/" + key.Name()})
}

// gone gives a node whose processes are dead to another machine.
func (w *world) gone(node int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.lives[node].killed)
	w.lives[node] = w.newLife(node)
}

// breaks lets operations fail from now on.
func (w *world) breaks(fault func(node int, op vfs.Op) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

// check lets no process of a lost node live on until it is killed. The lock is
// held.
func (l *life) check() error {
	if !l.lost {
		return nil
	}
	l.w.mu.Unlock()
	defer l.w.mu.Lock()
	<-l.killed
	return errLost
}

// lose takes the next losses that happen together. The lock is held.
func (w *world) lose(op vfs.Op) (lost []int) {
	w.restart = math.MaxInt64 // until it is known
	w.safe, w.flushed = max(w.safe, slices.Min(w.done[:])), max(w.flushed, w.newestAtHome())
	for first := true; len(w.pending) > 0 && (first || w.pending[0].after == 0); first = false {
		l := w.stands[w.pending[0].node]
		w.pending = w.pending[1:]
		if l.lost { // two have their place on one
			continue
		}
		l.lost = true
		lost = append(lost, l.node)
		w.ends = append(w.ends, fmt.Sprintf("node %d before %v", l.node, op))
	}
	if w.armed = len(w.pending) > 0 && !w.pending[0].later; w.armed {
		w.left = w.pending[0].after
	}
	return lost
}

// newestAtHome is the newest iteration of which the parallel file system has all
// parts.
func (w *world) newestAtHome() int64 {
	newest := int64(-1)
	dirs, _ := w.home.ReadDir("/pfs/prog")
	for _, dir := range dirs {
		id, ok := storage.ParseID(dir.Name())
		parts, _ := w.home.ReadDir("/pfs/prog/" + dir.Name())
		whole := 0
		for _, part := range parts {
			if strings.HasPrefix(part.Name(), "rank-") {
				whole++
			}
		}
		if ok && whole == disasterRanks {
			newest = max(newest, w.iters[id.Version])
		}
	}
	return newest
}

func (w *world) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) > 0 && !w.armed && slices.Min(w.done[:]) > w.restart {
		w.armed, w.left = true, w.pending[0].after
	}
}

// disarm ends the time in which nodes are lost, if none was.
func (w *world) disarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ends) == 0 {
		w.armed = false
	}
}

// atHome is asked before everything that processes of the node do on the parallel
// file system.
func (l *life) atHome(op vfs.Op) error {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if err := l.check(); err != nil {
		return err
	}
	switch op.Kind { // to look whether a failed version has left anything there is no harm
	case vfs.OpOpen, vfs.OpRead, vfs.OpMkdir, vfs.OpCreate, vfs.OpOverwrite, vfs.OpWrite:
		if strings.Contains(op.Path, "/v-") && l.w.touched == "" {
			l.w.touched = op.String()
		}
	}
	return nil
}

// drop loses nodes between two jobs.
func (w *world) drop(nodes ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.safe, w.flushed = max(w.safe, slices.Min(w.done[:])), max(w.flushed, w.newestAtHome())
	for _, n := range nodes {
		w.lives[n] = w.newLife(n)
		w.ends = append(w.ends, fmt.Sprintf("node %d between jobs", n))
	}
}

func nodeRoot(n int) string { return fmt.Sprintf("/node%d", n) }

// begun notes that a version is being written.
func (w *world) begun(version uint64, iter int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.iters[version] = int64(iter)
}

// settled notes that a rank knows that its versions are there, up to one. Those
// count that survive the losses.
func (w *world) settled(r comm.Rank, version uint64) {
	policy, _ := storage.ParsePolicy(w.levels)
	w.mu.Lock()
	defer w.mu.Unlock()
	iter, ok := w.iters[version]
	if !ok {
		return
	}
	w.known[r] = max(w.known[r], iter)
	if policy.Plan(version).BelowHome().Covers(w.least) {
		w.done[r] = max(w.done[r], iter)
	}
}

// restored notes from where a rank goes on.
func (w *world) restored(p *disasterProgram) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.jobs == 1 && p.z.Epoch() == 0 {
		return nil
	}
	got, least := int64(p.iter)-1, w.safe
	if w.beyond {
		least = w.flushed
	}
	if got < least || w.safe >= 0 && got < 0 {
		return fmt.Errorf("rank %d goes on after iteration %d, that of iteration %d was safe", p.c.Rank(), got, least)
	}
	safe := got
	if policy, _ := storage.ParsePolicy(w.levels); !policy.Plan(p.cp.line.point.Version).BelowHome().Covers(w.least) {
		safe = min(got, w.safe) // it does not survive as much
	}
	w.done[p.c.Rank()], w.restart = safe, got
	w.restores++
	return nil
}

// job runs the program once on all ranks; it ends when they have ended, or have
// died and were not replaced.
func (w *world) job(ctx context.Context) error {
	w.mu.Lock()
	w.jobs++
	name := fmt.Sprintf("job %d", w.jobs)
	w.mu.Unlock()
	// Of a job whose processes are all dead.
	_ = w.home.Remove("/pfs/prog/" + filestore.LockName)
	return w.cluster.Run(ctx, disasterRanks, func(ctx context.Context, r *afttest.Rank) error {
		w.mu.Lock()
		w.kill = r.KillNode
		l := w.lives[r.Node()]
		w.stands[int(r.Session().Place().Original)*disasterNodes/disasterRanks] = l
		w.mu.Unlock()
		body := func(ctx context.Context, z *aft.Zone) error { return w.program(ctx, z, z.Comm(), l, name) }
		if !w.inPlace {
			return w.program(ctx, fresh{}, r.Comm(), l, name)
		}
		return aft.Run(ctx, body, aft.WithLogger(slog.New(slog.DiscardHandler)), aft.WithRecovery(comm.NonShrinking))
	})
}

// fresh is the place of a program that does not survive failures.
type fresh struct{}

func (fresh) Epoch() int { return 0 }

// run runs jobs until one ends without the loss of a node, and returns the number
// of nodes that were lost and its error.
func (w *world) run(t *testing.T) (losses int, err error) {
	t.Helper()
	// Generous: a busy machine may be slow, and only a hang takes that long.
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	for {
		before := len(w.ends)
		err = w.job(ctx)
		require.NoError(t, ctx.Err(), "the job hangs: %s", w)
		require.NotContains(t, w.log.String(), notKnown)
		if len(w.ends) == before || w.inPlace {
			return len(w.ends), err
		}
	}
}

// survives runs the program through its losses, which the levels allow, and
// returns how many there were.
func (w *world) survives(t *testing.T) int {
	t.Helper()
	losses, err := w.run(t)
	require.NoError(t, err, "%s", w)
	require.Empty(t, w.touched, "the parallel file system was touched: %s", w)
	if losses > 0 {
		require.GreaterOrEqual(t, w.restores, disasterRanks, "%s", w)
	}
	return losses
}

func (w *world) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%s, %s, in place %v, losses %v, left %v, safe after iteration %d\n%s", w.levels, w.mode, w.inPlace, w.ends, w.pending, w.safe, w.log.String())
}
