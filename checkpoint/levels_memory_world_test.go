package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// memoryWorld is a job in a zone, on nodes and a parallel file system in memory, which counts
// what it does with files.
type memoryWorld struct {
	t        *testing.T
	ranks    int
	cluster  *afttest.Cluster
	recovery comm.Recovery
	spawn    comm.SpawnPolicy
	options  []Option
	until    int
	cells    int
	name     string // of the job, of which each epoch takes over the lock of the one before
	still    bool   // hardly any value changes

	home  *vfs.Mem
	nodes []*vfs.Mem
	log   syncBuffer
	files atomic.Int64 // operations on them
	first atomic.Pointer[string]

	// step is called before each iteration is written; it may kill.
	step func(p *memoryProgram) error
	// memory is asked before operations in memory; nil: nobody is.
	memory func(r *afttest.Rank, operation string, key storage.ObjectKey) error
	// atHome is asked before operations on the parallel file system; nil: nobody is.
	atHome func(r *afttest.Rank, op vfs.Op) error
	// onNode is asked before operations on the nodes' files; nil: nobody is.
	onNode func(op vfs.Op) error
	// refused is asked about an error of a write, after which the program goes on if it returns nil; nil: it ends.
	refused func(p *memoryProgram, err error) error
	// begins is called before RestartIfNeeded; it may kill.
	begins func(p *memoryProgram)
	// restored is called after RestartIfNeeded, last at the end.
	restored, last func(p *memoryProgram) error

	mu       sync.Mutex
	restarts []int // where rank 0 went on, attempt by attempt
}

func newMemoryWorld(t *testing.T, ranks, nodes int, levels string, options ...Option) *memoryWorld {
	w := &memoryWorld{t: t, ranks: ranks, recovery: comm.NonShrinking, spawn: comm.Reuse, until: 10, cells: ranks * 1500, home: vfs.NewMem()}
	w.cluster = &afttest.Cluster{Nodes: nodes, Spares: 4}
	for range nodes + 4 {
		w.nodes = append(w.nodes, vfs.NewMem())
	}
	w.options = append([]Option{withLevels(levels), WithSync(SyncFull)}, options...)
	return w
}

// counted counts operations on files.
func (w *memoryWorld) counted(fsys vfs.FS) vfs.FS {
	return vfs.WithErrors(fsys, func(op vfs.Op) error {
		if w.files.Add(1) == 1 {
			text := op.String()
			w.first.Store(&text)
		}
		return nil
	})
}

// settled waits on all ranks until what follows from the versions so far is done: the newest of those that are due on
// the parallel file system has come there in the background, and metadata tells of it.
func (p *memoryProgram) settled(ctx context.Context) error {
	err := p.cp.Wait(ctx)
	if err == nil && p.c.Rank() == 0 {
		pending := func(v StoredVersion) bool { return v.Pending }
		err = errors.Join(eventually(func() bool { return !slices.ContainsFunc(p.cp.Stored(), pending) }), p.cp.up.maintenanceDone(ctx))
		p.cp.up.doMaintenance(ctx)
	}
	return errors.Join(err, comm.Barrier(ctx, p.c))
}

// noFiles fails the test if there was any operation since count was reset.
func (w *memoryWorld) noFiles(p *memoryProgram, when string) error {
	if n := w.files.Load(); n > 0 {
		return fmt.Errorf("%s: %d operations on files, the first one %s", when, n, *w.first.Load())
	}
	return nil
}

type memoryProgram struct {
	*program
	w    *memoryWorld
	rank *afttest.Rank
	z    *aft.Zone
}

func (w *memoryWorld) values(c *comm.Comm) *program {
	p := newValues(c, w.cells)
	p.mine, p.still = 7, w.still
	return p
}

func (p *memoryProgram) epoch() int { return p.z.Epoch() }

// job runs the program once.
func (w *memoryWorld) job(options ...Option) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), 60*time.Second)
	defer cancel()
	return w.cluster.Run(ctx, w.ranks, func(ctx context.Context, r *afttest.Rank) error {
		return aft.Run(ctx, func(ctx context.Context, z *aft.Zone) error { return w.body(ctx, z, r, options) },
			aft.WithLogger(slog.New(slog.DiscardHandler)), aft.WithRecovery(w.recovery), aft.WithSpawn(w.spawn))
	})
}

func (w *memoryWorld) body(ctx context.Context, z *aft.Zone, r *afttest.Rank, more []Option) (err error) {
	p := &memoryProgram{program: w.values(z.Comm()), w: w, rank: r, z: z}
	options := slices.Concat([]Option{
		WithPath("/pfs"), WithNodePath(nodeRoot(r.Node())), WithLogger(slog.New(slog.NewTextHandler(&w.log, nil))),
		withFS(vfs.WithErrors(w.counted(w.home), func(op vfs.Op) error {
			if w.atHome == nil {
				return nil
			}
			return w.atHome(r, op)
		})), func(o *options) {
			o.nodeFS = w.counted(w.nodes[r.Node()])
			if w.onNode != nil {
				o.nodeFS = vfs.WithErrors(o.nodeFS, w.onNode)
			}
			if w.name != "" {
				o.lock = filestore.LockConfig{Job: w.name, Epoch: z.Epoch()}
			}
			if w.memory != nil {
				o.beforeMemory = func(operation string, key storage.ObjectKey) error { return w.memory(r, operation, key) }
			}
		},
	}, w.options, more)
	if p.cp, err = New("prog", z.Comm(), options...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.cp.Close()) }()
	if err := errors.Join(p.add(w.recovery == comm.NonShrinking), p.cp.Commit()); err != nil {
		return err
	}
	if w.begins != nil {
		w.begins(p)
	}
	if err := p.cp.RestartIfNeeded(ctx, &p.iter); err != nil {
		return err
	}
	if p.c.Rank() == 0 {
		w.mu.Lock()
		w.restarts = append(w.restarts, p.iter)
		w.mu.Unlock()
	}
	if w.restored != nil {
		if err := w.restored(p); err != nil {
			return err
		}
	}
	return p.loop(ctx)
}

func (p *memoryProgram) loop(ctx context.Context) error {
	for ; p.iter < p.w.until; p.iter++ {
		if err := p.unlessRefused(p.cp.Wait(ctx)); err != nil {
			return err
		}
		p.program.step()
		if p.w.step != nil {
			if err := p.w.step(p); err != nil {
				return err
			}
		}
		if err := p.unlessRefused(p.cp.UpdateAndWrite(ctx, p.iter, 1)); err != nil {
			return err
		}
	}
	if err := p.cp.Wait(ctx); err != nil {
		return err
	}
	q := p.w.values(p.c)
	for ; q.iter < p.w.until; q.iter++ {
		q.step()
	}
	if !slices.Equal(p.v, q.v) || !slices.Equal(p.sums, q.sums) {
		return fmt.Errorf("rank %d has another result", p.c.Rank())
	}
	if p.w.last != nil {
		return p.w.last(p)
	}
	return nil
}

// unlessRefused is what remains of the error of a write.
func (p *memoryProgram) unlessRefused(err error) error {
	if err != nil && p.w.refused != nil {
		return p.w.refused(p, err)
	}
	return err
}

// warned are the warnings in the log.
func (w *memoryWorld) warned() (lines []string) {
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			lines = append(lines, line)
		}
	}
	return lines
}

func (w *memoryWorld) run(options ...Option) {
	w.t.Helper()
	require.NoError(w.t, w.job(options...), w.log.String())
}
