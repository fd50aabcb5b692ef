package erasure

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
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
	"github.com/craft-go/craft/storage/nodelocal"
)

// patience gives a hanging test away; the machine may be busy.
const patience = 60 * time.Second

// trial is a job whose ranks are goroutines, each on a node of its own.
type trial struct {
	t        *testing.T
	parity   int
	block    int
	exchange exchange.Options
	disks    []vfs.FS
	nodes    []*nodelocal.Store
}

func newTrial(t *testing.T, n, parity int) *trial {
	x := &trial{t: t, parity: parity, block: 1000, exchange: exchange.Options{Block: 4096, Window: 2}}
	for range n {
		x.disks = append(x.disks, vfs.NewMem())
	}
	x.mount()
	return x
}

// mount makes the stores of the nodes on the disks.
func (x *trial) mount() {
	x.nodes = nil
	for _, disk := range x.disks {
		node, err := nodelocal.New(nodelocal.Config{Root: "/node", Name: "test", Home: "/home/test", FS: disk, Sync: filestore.SyncNone})
		require.NoError(x.t, err)
		x.nodes = append(x.nodes, node)
	}
}

func (x *trial) size() int { return len(x.disks) }

func (x *trial) part(rank int) storage.Part { return storage.Part{Rank: rank, Size: x.size()} }

// member is one rank of a trial.
type member struct {
	*trial
	ctx     context.Context
	c       *comm.Comm
	f       *afttest.Rank
	me      int
	service *exchange.Service
	scheme  *Scheme
	started chan struct{} // closed when the scheme is there
}

func (m *member) Create(ctx context.Context, from comm.Rank, name string) (storage.PartWriter, error) {
	<-m.started
	return m.scheme.Handle(ctx, from, name)
}

func (m *member) Open(context.Context, comm.Rank, string) (storage.PartReader, error) {
	return nil, storage.ErrNotFound
}

// play runs body on all ranks. Nothing is left of it then: no goroutine, and no
// file without its final name.
func (x *trial) play(body func(m *member)) {
	t := x.t
	t.Helper()
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := new(afttest.Cluster).Run(ctx, x.size(), func(ctx context.Context, f *afttest.Rank) error {
		c := f.Comm()
		m := &member{trial: x, ctx: ctx, c: c, f: f, me: int(c.Rank()), started: make(chan struct{})}
		m.service = exchange.New(ctx, c, m, x.exchange)
		defer func() { _ = m.service.Close(ctx) }()
		var set []int
		for r := range x.size() {
			set = append(set, r)
		}
		var err error
		m.scheme, err = NewScheme(SchemeConfig{Service: m.service, Node: x.nodes[m.me], Rank: m.me, Set: set, Parity: x.parity, Block: x.block, Prefix: "parity", Log: slog.New(slog.DiscardHandler)})
		close(m.started)
		if err != nil {
			return err
		}
		defer func() { _ = m.scheme.Close(ctx) }()
		body(m)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, ctx.Err(), "something has hung")
	cancel()
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, before there were %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
	for rank, node := range x.nodes {
		objects, err := node.Inventory(t.Context())
		require.NoError(t, err)
		for _, o := range objects {
			files, err := x.disks[rank].ReadDir(node.Path(o.ObjectKey.ID))
			require.NoError(t, err)
			for _, f := range files {
				require.False(t, strings.HasPrefix(f.Name(), "."), "left over: %s", f.Name())
			}
		}
	}
}

// collecting returns what makes this rank's parity of a version, if it does.
func (m *member) collecting(id storage.ID) *collector {
	m.scheme.mu.Lock()
	defer m.scheme.mu.Unlock()
	return m.scheme.collectors[version{id, m.size()}]
}

func idOf(v uint64) storage.ID {
	return storage.ID{Version: v, Attempt: container.AttemptID{1, 2, 3}}
}

// write protects a part, in pieces, and keeps it on its own node.
func (m *member) write(id storage.ID, data []byte, piece func() int) error {
	m.keep(id, data)
	w, err := m.scheme.Create(m.ctx, id, m.part(m.me))
	if err != nil {
		return err
	}
	for len(data) > 0 {
		k := min(max(piece(), 1), len(data))
		if _, err := w.Write(data[:k]); err != nil {
			_ = w.Abort()
			return err
		}
		data = data[k:]
	}
	return w.Commit()
}

// keep puts a part on this rank's node.
func (m *member) keep(id storage.ID, data []byte) {
	w, err := m.nodes[m.me].Create(m.ctx, id, m.part(m.me))
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Commit()
	}
	if err != nil {
		m.t.Errorf("rank %d: %v", m.me, err)
	}
}

func all(n int) func() int { return func() int { return n } }

func anyPiece(rng *rand.Rand, most int) func() int { return func() int { return rng.IntN(most) } }

// without opens what is left when some nodes are lost.
func (x *trial) without(lost ...int) Open {
	return func(ctx context.Context, key storage.ObjectKey) (storage.PartReader, error) {
		if slices.Contains(lost, key.Part.Rank) {
			return nil, storage.ErrNotFound
		}
		return x.nodes[key.Part.Rank].OpenObject(ctx, key)
	}
}

func readAll(t *testing.T, r storage.PartReader, err error) []byte {
	t.Helper()
	require.NoError(t, err)
	data, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return data
}

func (x *trial) parityKey(id storage.ID, rank int) storage.ObjectKey {
	return storage.ObjectKey{ID: id, Kind: storage.KindParity, Part: x.part(rank)}
}

// requireProtected requires that the parity is what it should be, loses all choices
// of nodes that it allows, and gets all parts back bit for bit.
func (x *trial) requireProtected(id storage.ID, data [][]byte) {
	t := x.t
	t.Helper()
	var ranks []int
	for rank := range x.nodes {
		ranks = append(ranks, rank)
	}
	want := encoded(t, Layout{Members: x.size(), Parity: x.parity, Block: x.block}, version{id, x.size()}, ranks, data)
	for rank := range x.nodes {
		r, err := x.nodes[rank].OpenObject(t.Context(), x.parityKey(id, rank))
		require.True(t, bytes.Equal(want.files[rank], readAll(t, r, err)), "parity of rank %d", rank)
	}
	for _, lost := range choices(x.size(), x.parity) {
		open := x.without(lost...)
		for _, rank := range lost {
			var part bytes.Buffer
			require.NoError(t, RebuildPart(t.Context(), id, x.part(rank), open, &part), "lost %v", lost)
			require.True(t, bytes.Equal(data[rank], part.Bytes()), "part of rank %d of %v differs", rank, lost)
			r, err := OpenRebuilt(t.Context(), id, x.part(rank), open)
			require.True(t, bytes.Equal(data[rank], readAll(t, r, err)), "rebuilt part of rank %d of %v differs", rank, lost)
		}
	}
}

func bytesOf(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}
