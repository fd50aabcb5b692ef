package exchange

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// patience gives a hanging test away; the machine may be busy.
const patience = 30 * time.Second

// small makes many blocks of few bytes; large ones do not fit an eager message.
var (
	small = Options{Block: minBlock, Window: 3, Streams: 4}
	large = Options{Block: 128 << 10, Window: 2, Streams: 4}
)

// memory is a handler that keeps parts in memory. The hooks may be nil.
type memory struct {
	create func(ctx context.Context, name string) error
	open   func(ctx context.Context, name string) error
	write  func(name string, total int) error
	commit func(name string) error
	read   func(name string, off int64) error

	mu    sync.Mutex
	parts map[string][]byte
	busy  int // writers and readers that have not been ended
}

func (s *memory) Create(ctx context.Context, _ comm.Rank, name string) (storage.PartWriter, error) {
	if s.create != nil {
		if err := s.create(ctx, name); err != nil {
			return nil, err
		}
	}
	s.count(1)
	return &memoryWriter{s: s, name: name}, nil
}

func (s *memory) Open(ctx context.Context, _ comm.Rank, name string) (storage.PartReader, error) {
	if s.open != nil {
		if err := s.open(ctx, name); err != nil {
			return nil, err
		}
	}
	data, ok := s.get(name)
	if !ok {
		return nil, storage.ErrNotFound
	}
	s.count(1)
	return &memoryReader{s: s, name: name, Reader: bytes.NewReader(data)}, nil
}

func (s *memory) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy += n
}

// used returns how many writers and readers have not been ended.
func (s *memory) used() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy
}

func (s *memory) get(name string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.parts[name]
	return data, ok
}

func (s *memory) put(name string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts == nil {
		s.parts = make(map[string][]byte)
	}
	s.parts[name] = data
}

type memoryWriter struct {
	s    *memory
	name string
	data []byte
}

func (w *memoryWriter) Write(p []byte) (int, error) {
	if w.s.write != nil {
		if err := w.s.write(w.name, len(w.data)+len(p)); err != nil {
			return 0, err
		}
	}
	w.data = append(w.data, p...)
	return len(p), nil
}

func (w *memoryWriter) Commit() error {
	defer w.s.count(-1)
	if w.s.commit != nil {
		if err := w.s.commit(w.name); err != nil {
			return err
		}
	}
	w.s.put(w.name, w.data)
	return nil
}

func (w *memoryWriter) Abort() error {
	w.s.count(-1)
	return nil
}

type memoryReader struct {
	s    *memory
	name string
	*bytes.Reader
}

func (r *memoryReader) ReadAt(p []byte, off int64) (int, error) {
	if r.s.read != nil {
		if err := r.s.read(r.name, off); err != nil {
			return 0, err
		}
	}
	return r.Reader.ReadAt(p, off)
}

func (r *memoryReader) Close() error {
	r.s.count(-1)
	return nil
}

// trial is one rank of a test.
type trial struct {
	t        *testing.T
	ctx      context.Context
	c        *comm.Comm
	f        *afttest.Rank
	s        *Service
	memory   *memory
	memories []*memory // of all ranks
}

// play runs body on n ranks, each with a service over its memory, and then checks
// that nothing is held any more: writers and readers of the handlers, buffers,
// streams, goroutines. body may end its rank with f.Die.
func play(t *testing.T, n int, opts Options, body func(r *trial)) {
	t.Helper()
	playOn(t, n, opts, make([]*memory, n), body)
}

func playOn(t *testing.T, n int, opts Options, memories []*memory, body func(r *trial)) {
	t.Helper()
	before := runtime.NumGoroutine()
	for i := range memories {
		if memories[i] == nil {
			memories[i] = &memory{}
		}
	}
	services := make([]*Service, n)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := new(afttest.Cluster).Run(ctx, n, func(ctx context.Context, f *afttest.Rank) error {
		c := f.Comm()
		own := memories[c.Rank()]
		s := New(ctx, c, own, opts)
		services[c.Rank()] = s
		defer func() { _ = s.Close(ctx) }()
		body(&trial{t, ctx, c, f, s, own, memories})
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, ctx.Err(), "something has hung")
	for r, s := range services {
		require.Zero(t, s.buffers.out, "buffers of rank %d", r)
		require.Zero(t, memories[r].busy, "writers and readers at rank %d", r)
		for _, p := range s.peers {
			require.Empty(t, p.opened, "streams of rank %d to rank %d", r, p.rank)
			require.Empty(t, p.served, "streams of rank %d for rank %d", r, p.rank)
			require.Empty(t, p.slots)
			require.Empty(t, p.places)
			require.Empty(t, p.lent)
			require.Zero(t, p.asking)
			require.Empty(t, p.cache.kept)
		}
	}
	cancel()
	awaitGoroutines(t, before)
}

// awaitGoroutines waits until no more of them are left than before.
func awaitGoroutines(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, before there were %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// tagTest is for what the test itself says: no stream has it.
const tagTest comm.Tag = 1 << 28

func (r *trial) tell(to comm.Rank) {
	require.NoError(r.t, comm.Send(r.ctx, r.c, to, tagTest, []byte{1}))
}

func (r *trial) hear(from comm.Rank) {
	_, _, err := comm.Recv(r.ctx, r.c, from, tagTest, make([]byte, 1))
	require.NoError(r.t, err)
}

// store writes a part to another rank, in pieces.
func (r *trial) store(to comm.Rank, name string, data []byte, piece int) error {
	w, err := r.s.Create(r.ctx, to, name)
	if err != nil {
		return err
	}
	for len(data) > 0 {
		k := min(piece, len(data))
		if n, err := w.Write(data[:k]); err != nil || n != k {
			_ = w.Abort()
			return err
		}
		data = data[k:]
	}
	return w.Commit()
}

func random(seed uint64, n int) []byte {
	g := rand.New(rand.NewPCG(seed, 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}
