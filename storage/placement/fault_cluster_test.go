package placement_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/internal/exchange"
	"github.com/craft-go/craft/storage/placement"
)

const (
	faultyRanks = 8
	faultyNodes = 4
)

// faulty is a cluster whose storage is in memory and fails when it is told to.
type faulty struct {
	policy    string
	home      *vfs.Mem
	homeFails func(vfs.Op) error // is asked before each operation there; nil: all is well
	nodes     []*vfs.Mem
	placed    func(comm.Rank) int // the node of a rank
	log       logBuffer

	mu   sync.Mutex
	hook func(node int, op vfs.Op) error // nil: all is well

	slow, reached chan struct{} // of a test that lets a node wait
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newFaulty(policy string) *faulty {
	f := &faulty{policy: policy, home: vfs.NewMem(), placed: faultyNode}
	for range faultyNodes {
		f.nodes = append(f.nodes, vfs.NewMem())
	}
	return f
}

func faultyNode(r comm.Rank) int { return int(r) * faultyNodes / faultyRanks }

// breaks lets operations of the nodes fail from now on; nil: no longer.
func (f *faulty) breaks(hook func(node int, op vfs.Op) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

func (f *faulty) at(node int) vfs.FS {
	return vfs.WithErrors(f.nodes[node], func(op vfs.Op) error {
		f.mu.Lock()
		hook := f.hook
		f.mu.Unlock()
		if hook == nil {
			return nil
		}
		return hook(node, op)
	})
}

func (f *faulty) lose(node int) { f.nodes[node] = vfs.NewMem() }

// member is one rank of a job.
type member struct {
	*placement.Placement
	*faulty

	store *storage.Store
	ranks *afttest.Rank
}

// job runs body on all ranks that live to the end.
func (f *faulty) job(t *testing.T, body func(ctx context.Context, m *member) error) {
	t.Helper()
	policy, err := storage.ParsePolicy(f.policy)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // only a hang takes that long
	defer cancel()
	cluster := &afttest.Cluster{Nodes: faultyNodes, OnLoss: f.lose}
	err = cluster.Run(ctx, faultyRanks, func(ctx context.Context, ranks *afttest.Rank) (err error) {
		defer func() {
			if err != nil {
				cancel() // nobody waits for this one
			}
		}()
		c, err := ranks.Comm().Split(ctx, 0, f.seat(ranks))
		if err != nil {
			return err
		}
		var pfs vfs.FS = f.home
		if f.homeFails != nil {
			pfs = vfs.WithErrors(pfs, f.homeFails)
		}
		files, err := filestore.New(filestore.Config{Path: "/pfs", Name: "cp", FS: pfs})
		if err != nil {
			return err
		}
		node := ranks.Node()
		s, err := placement.Open(ctx, placement.Config{
			Comm: c, Name: "cp", Home: files, Dir: files.Dir(), Policy: policy, Root: fmt.Sprintf("/node%d", node), FS: f.at(node),
			Log:      slog.New(slog.NewTextHandler(&f.log, nil)),
			Exchange: exchange.Options{Block: 4 << 10, Window: 2}, // a partner that stops is noticed in the middle of a part
		})
		if err != nil {
			return err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			go func() {
				select {
				case <-c.FailureKnown():
					cancel()
				case <-ctx.Done():
				}
			}()
			_ = s.Close(ctx)
		}()
		m := &member{Placement: s, faulty: f, ranks: ranks}
		if m.store, err = storage.NewStore(s, container.Options{ChunkSize: 64 << 10}); err != nil {
			return err
		}
		if err := begin(ctx, s, storage.Entry.Complete); err != nil {
			return err
		}
		return body(ctx, m)
	})
	require.NoError(t, err, "%s", f.log.String())
	require.NoError(t, ctx.Err(), "the job hangs\n%s", f.log.String())
}

// seat is the rank that is to be on a node: the ranks of the cluster are there in blocks.
func (f *faulty) seat(at *afttest.Rank) int {
	before := int(at.Session().Place().Original) % (faultyRanks / faultyNodes) // of the same node
	for r := range comm.Rank(faultyRanks) {
		if f.placed(r) != at.Node() {
			continue
		}
		if before == 0 {
			return int(r)
		}
		before--
	}
	panic("a node has too few ranks")
}

func (m *member) rank() int { return int(m.Comm().Rank()) }

// put writes this rank's part of a version.
func (m *member) put(ctx context.Context, version uint64) (container.Header, error) {
	return put(ctx, m.Placement, m.store, version, smallValues(version, m.rank()))
}

// write writes a version on all ranks, which agree about what it has become. err
// is of this rank.
func (m *member) write(ctx context.Context, version uint64) (together placement.Outcome, err error) {
	h, err := m.put(ctx, version)
	together, agreed := m.agree(ctx, h, err)
	if agreed != nil {
		return together, agreed
	}
	return together, err
}

// agree ends a write on all ranks together; written is how it went on this one.
func (m *member) agree(ctx context.Context, h container.Header, written error) (together placement.Outcome, err error) {
	id := idOf(h.Version)
	mine := m.Outcome(id, written == nil)
	own := append(mine.Levels.Missing(), 0)
	if mine.Spilled {
		own[len(own)-1] = 1
	}
	all := make([]int64, len(own))
	if err := comm.Allreduce(ctx, m.Comm(), own, all, comm.Max[int64]); err != nil {
		return mine, err
	}
	together = placement.Outcome{Levels: storage.FromMissing(all[:len(all)-1]), Spilled: all[len(all)-1] != 0}
	if together.Levels == 0 {
		together.Spilled = false
	}
	m.Settled(h, together)
	if together.Levels == 0 && m.rank() == 0 { // as the checkpoint does
		if err := m.Remove(ctx, id); err != nil {
			return together, err
		}
	}
	return together, comm.Barrier(ctx, m.Comm())
}

// newest is the newest version that can be had.
func (m *member) newest(ctx context.Context) (uint64, error) {
	entries, err := m.List(ctx)
	newest := uint64(0)
	for _, e := range entries {
		if e.Complete() {
			newest = e.ID.Version
		}
	}
	return newest, err
}

// restores checks in a new job that the newest version is at least that one, and
// all of it right.
func (f *faulty) restores(t *testing.T, least uint64) {
	t.Helper()
	f.job(t, func(ctx context.Context, m *member) error {
		newest, err := m.newest(ctx)
		if err != nil {
			return err
		}
		if newest < least {
			return fmt.Errorf("the newest version is %d, %d was there", newest, least)
		}
		if err := m.check(ctx, newest); err != nil {
			return fmt.Errorf("version %d: %w", newest, err)
		}
		return comm.Barrier(ctx, m.Comm())
	})
}

// smallValues are what a rank writes: of several sizes, in several chunks.
func smallValues(version uint64, rank int) []byte {
	rng := rand.New(rand.NewPCG(version, uint64(rank)))
	data := make([]byte, 0, 200_000)
	for len(data) < 70_000+rank%3*50_000 {
		data = binary.LittleEndian.AppendUint64(data, rng.Uint64())
	}
	return data
}

// check reads a version: each rank its own part and another one.
func (m *member) check(ctx context.Context, version uint64) error {
	if err := m.Gather(ctx, idOf(version)); err != nil {
		return err
	}
	if err := comm.Barrier(ctx, m.Comm()); err != nil {
		return err
	}
	for _, rank := range []int{m.rank(), (m.rank() + 3) % faultyRanks} {
		data, err := read(ctx, m.store, version, storage.Part{Rank: rank, Size: faultyRanks})
		if err != nil {
			return err
		}
		if !bytes.Equal(data, smallValues(version, rank)) {
			return fmt.Errorf("part of rank %d is another one", rank)
		}
	}
	return nil
}

// protected reports whether what protects the part of a rank is published on other nodes: as
// many copies as nodes may be lost, or what all others of its set, which has a rank of each
// node, hold of it.
func (f *faulty) protected(level storage.Level, id storage.ID, rank int) bool {
	found, needed := 0, faultyNodes-1
	if level.Redundancy == storage.Copies {
		needed = level.Survives.Nodes
	}
	for node, mem := range f.nodes {
		if faultyNode(comm.Rank(rank)) == node {
			continue
		}
		want := fmt.Sprintf("copy-rank-%05d", rank)
		if level.Redundancy != storage.Copies {
			want = fmt.Sprintf("parity-rank-%05d", 2*node+rank%2)
		}
		places, _ := mem.ReadDir(fmt.Sprintf("/node%d", node))
		for _, place := range places {
			objects, _ := mem.ReadDir(fmt.Sprintf("/node%d/%s/%v", node, place.Name(), id))
			for _, o := range objects {
				if strings.HasPrefix(o.Name(), want) {
					found++
				}
			}
		}
	}
	return found >= needed
}

// isGuard reports whether an operation is about what protects parts of others.
func isGuard(op vfs.Op) bool {
	for _, path := range []string{op.Path, op.NewPath} {
		if base := filepath.Base(path); strings.Contains(base, "copy-") || strings.Contains(base, "parity-") {
			return true
		}
	}
	return false
}
