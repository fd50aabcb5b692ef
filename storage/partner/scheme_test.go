package partner

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/internal/domain"
	"github.com/craft-go/craft/storage/internal/exchange"
	"github.com/craft-go/craft/storage/nodelocal"
)

// patience gives a hanging test away; the machine may be busy.
const patience = 60 * time.Second

var id = storage.ID{Version: 12, Attempt: container.AttemptID{7}}

// host answers the exchange on a node as every rank of a job does.
type host struct {
	node  *nodelocal.Store
	write func() error // may be nil: asked before each write
}

func (h *host) Create(ctx context.Context, _ comm.Rank, name string) (storage.PartWriter, error) {
	key, err := storage.ParseObjectKey(name)
	if err != nil {
		return nil, err
	}
	w, err := h.node.CreateObject(ctx, key)
	if err != nil || h.write == nil {
		return w, err
	}
	return &asking{w, h}, nil
}

func (h *host) Open(ctx context.Context, _ comm.Rank, name string) (storage.PartReader, error) {
	key, err := storage.ParseObjectKey(name)
	if err != nil {
		return nil, err
	}
	return h.node.OpenObject(ctx, key)
}

type asking struct {
	storage.PartWriter
	h *host
}

func (a *asking) Write(p []byte) (int, error) {
	if err := a.h.write(); err != nil {
		return 0, err
	}
	return a.PartWriter.Write(p)
}

type rank struct {
	ctx     context.Context
	me      int
	f       *afttest.Rank
	service *exchange.Service
	scheme  *Scheme
}

// play runs body on ranks that have a node each.
func play(t *testing.T, hosts []*host, body func(r *rank)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	places := make([]domain.Place, len(hosts))
	for i := range places {
		places[i].Node = i
	}
	partners, err := domain.Partners(places)
	require.NoError(t, err)
	err = new(afttest.Cluster).Run(ctx, len(hosts), func(ctx context.Context, f *afttest.Rank) error {
		c := f.Comm()
		r := &rank{ctx: ctx, me: int(c.Rank()), f: f}
		r.service = exchange.New(ctx, c, hosts[r.me], exchange.Options{Block: 4096, Window: 2})
		defer func() { _ = r.service.Close(ctx) }()
		r.scheme = &Scheme{Service: r.service, Partner: comm.Rank(partners.Partner[r.me]), ObjectName: storage.ObjectKey.Name}
		body(r)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, ctx.Err(), "something has hung")
}

func newHosts(t *testing.T, n int) []*host {
	var hosts []*host
	for range n {
		node, err := nodelocal.New(nodelocal.Config{Root: "/node", Name: "test", Home: "/home/test", FS: vfs.NewMem(), Sync: filestore.SyncNone})
		require.NoError(t, err)
		hosts = append(hosts, &host{node: node})
	}
	return hosts
}

func (r *rank) copy(ctx context.Context, part storage.Part, data []byte, piece int) error {
	w, err := r.scheme.Create(ctx, id, part)
	if err != nil {
		return err
	}
	for len(data) > 0 {
		k := min(piece, len(data))
		if _, err := w.Write(data[:k]); err != nil {
			return errors.Join(err, w.Abort())
		}
		data = data[k:]
	}
	return w.Commit()
}

func copyOf(t *testing.T, h *host, part storage.Part) ([]byte, error) {
	r, err := h.node.OpenObject(t.Context(), storage.ObjectKey{ID: id, Kind: storage.KindCopy, Part: part})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
}

func random(t *testing.T, n int) [][]byte {
	rng := testseed.Rand(t)
	sizes := []int{0, 1, 4096, 100_000 + rng.IntN(10_000)}
	data := make([][]byte, n)
	for i := range data {
		data[i] = make([]byte, sizes[i%len(sizes)])
		for k := range data[i] {
			data[i][k] = byte(rng.Uint32())
		}
	}
	return data
}

func TestCopies(t *testing.T) {
	hosts := newHosts(t, 5)
	data := random(t, 5)
	var partner [5]int
	play(t, hosts, func(r *rank) {
		partner[r.me] = int(r.scheme.Partner)
		part := storage.Part{Rank: r.me, Size: 5}
		if err := errors.Join(r.scheme.Skip(r.ctx, id, part), r.copy(r.ctx, part, data[r.me], 1000*(r.me+1))); err != nil {
			t.Error(err)
		}
	})
	for me, p := range partner {
		require.NotEqual(t, me, p)
		got, err := copyOf(t, hosts[p], storage.Part{Rank: me, Size: 5})
		require.NoError(t, err)
		require.True(t, bytes.Equal(data[me], got))
	}
}

// Whatever goes wrong at the partner, the error says which rank it is and why,
// and there is no copy.
func TestPartnerFails(t *testing.T) {
	part := storage.Part{Rank: 0, Size: 2}
	for name, c := range map[string]struct {
		want   error
		cancel bool
	}{
		"full node":    {want: syscall.ENOSPC},
		"death":        {want: comm.ErrProcFailed},
		"own context":  {want: context.Canceled, cancel: true},
		"death before": {want: comm.ErrProcFailed},
	} {
		t.Run(name, func(t *testing.T) {
			hosts := newHosts(t, 2)
			reached, over := make(chan struct{}), make(chan struct{})
			var once sync.Once
			hosts[1].write = func() error {
				once.Do(func() { close(reached) })
				switch name {
				case "full node":
					return syscall.ENOSPC
				case "death":
					<-over
				}
				return nil
			}
			play(t, hosts, func(r *rank) {
				if r.me == 1 {
					switch name {
					case "death":
						defer close(over)
						<-reached
						r.f.Die()
					case "death before":
						defer close(over)
						r.f.Die()
					}
					return
				}
				ctx, cancel := context.WithCancel(r.ctx)
				defer cancel()
				if c.cancel {
					go func() { <-reached; cancel() }()
				}
				if name == "death before" {
					<-over // else it may be faster than the death
				}
				var err error
				for err == nil { // until the failure has come
					err = r.copy(ctx, part, make([]byte, 1<<20), 1000)
				}
				var about *exchange.Error
				copy := storage.ObjectKey{ID: id, Kind: storage.KindCopy, Part: part}
				if !errors.As(err, &about) || about.Rank != 1 || about.Name != copy.Name() || !errors.Is(err, c.want) {
					t.Errorf("%v", err)
				}
			})
			if name == "full node" || name == "death" || name == "death before" {
				_, err := copyOf(t, hosts[1], part)
				require.ErrorIs(t, err, storage.ErrNotFound)
			}
		})
	}
}

func TestAbort(t *testing.T) {
	hosts := newHosts(t, 2)
	part := storage.Part{Rank: 0, Size: 2}
	play(t, hosts, func(r *rank) {
		if r.me == 1 {
			return
		}
		w, err := r.scheme.Create(r.ctx, id, part)
		if err == nil {
			_, err = w.Write(make([]byte, 50_000))
		}
		if err := errors.Join(err, w.Abort()); err != nil {
			t.Error(err)
		}
	})
	_, err := copyOf(t, hosts[1], part)
	require.ErrorIs(t, err, storage.ErrNotFound)
}
