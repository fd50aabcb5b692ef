package erasure

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/internal/exchange"
	"github.com/craft-go/craft/storage/nodelocal"
)

// benchPart is how large a part of the benchmarks is.
const benchPart = 64 << 20

// nodesInMemory are stores in shared memory, or, where there is none, on disk.
func nodesInMemory(b *testing.B, n int) []*nodelocal.Store {
	dir, err := os.MkdirTemp("/dev/shm", "craft-erasure-")
	if err != nil {
		dir, err = os.MkdirTemp("", "craft-erasure-")
	}
	require.NoError(b, err)
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	var nodes []*nodelocal.Store
	for r := range n {
		node, err := nodelocal.New(nodelocal.Config{Root: filepath.Join(dir, string(rune('a'+r))), Name: "bench", Home: dir, Sync: filestore.SyncNone})
		require.NoError(b, err)
		nodes = append(nodes, node)
	}
	return nodes
}

// onRanks runs body on ranks with a scheme each, one after the other version.
func onRanks(b *testing.B, nodes []*nodelocal.Store, parity int, body func(me int, s *Scheme)) {
	var set []int
	for r := range nodes {
		set = append(set, r)
	}
	err := afttest.Run(b.Context(), len(nodes), func(ctx context.Context, c *comm.Comm) error {
		m := &member{trial: &trial{}, started: make(chan struct{})}
		m.service = exchange.New(ctx, c, m, exchange.Options{})
		defer func() { _ = m.service.Close(ctx) }()
		var err error
		m.scheme, err = NewScheme(SchemeConfig{Service: m.service, Node: nodes[c.Rank()], Rank: int(c.Rank()), Set: set, Parity: parity, Prefix: "parity", Log: slog.New(slog.DiscardHandler)})
		close(m.started)
		if err != nil {
			return err
		}
		body(int(c.Rank()), m.scheme)
		return m.scheme.Close(ctx)
	})
	require.NoError(b, err)
}

// writeBoth writes a part to its node and, if there is a scheme, to that.
func writeBoth(ctx context.Context, node *nodelocal.Store, s *Scheme, id storage.ID, part storage.Part, piece []byte) error {
	var ws []storage.PartWriter
	w, err := node.Create(ctx, id, part)
	if err != nil {
		return err
	}
	ws = append(ws, w)
	if s != nil {
		if w, err = s.Create(ctx, id, part); err != nil {
			return err
		}
		ws = append(ws, w)
	}
	for range benchPart / len(piece) {
		for _, w := range ws {
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
	}
	for _, w := range ws {
		if err := w.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkProtect writes a version of four ranks, 64 MiB each: alone, and with
// parity. One version is kept.
func BenchmarkProtect(b *testing.B) {
	for name, parity := range map[string]int{"local": 0, "xor": 1, "rs2": 2} {
		b.Run(name, func(b *testing.B) {
			nodes := nodesInMemory(b, 4)
			b.SetBytes(4 * benchPart)
			piece := make([]byte, 1<<20)
			n := b.N
			b.ResetTimer()
			onRanks(b, nodes, max(parity, 1), func(me int, s *Scheme) {
				if parity == 0 {
					s = nil
				}
				for v := range n {
					id := idOf(uint64(v + 1))
					if err := writeBoth(b.Context(), nodes[me], s, id, storage.Part{Rank: me, Size: 4}, piece); err != nil {
						b.Error(err)
						return
					}
					if v > 0 {
						_ = nodes[me].Remove(b.Context(), idOf(uint64(v)))
					}
				}
			})
		})
	}
}

// BenchmarkRebuild brings a lost part back; copying reads it and writes it.
func BenchmarkRebuild(b *testing.B) {
	for name, parity := range map[string]int{"xor": 1, "rs2": 2} {
		nodes := nodesInMemory(b, 4)
		id := idOf(1)
		onRanks(b, nodes, parity, func(me int, s *Scheme) {
			if err := writeBoth(b.Context(), nodes[me], s, id, storage.Part{Rank: me, Size: 4}, make([]byte, 1<<20)); err != nil {
				b.Error(err)
			}
		})
		part := storage.Part{Rank: 1, Size: 4}
		open := func(ctx context.Context, key storage.ObjectKey) (storage.PartReader, error) {
			return nodes[key.Part.Rank].OpenObject(ctx, key)
		}
		into := func(b *testing.B, fill func(w io.Writer) error) {
			b.SetBytes(benchPart)
			for b.Loop() {
				w, err := nodes[0].Of(storage.KindCopy).Create(b.Context(), id, part)
				require.NoError(b, err)
				require.NoError(b, fill(w))
				require.NoError(b, w.Commit())
			}
		}
		b.Run(name, func(b *testing.B) {
			into(b, func(w io.Writer) error { return RebuildPart(b.Context(), id, part, open, w) })
		})
		if parity == 1 {
			b.Run("copy", func(b *testing.B) {
				buf := make([]byte, 1<<20)
				into(b, func(w io.Writer) error {
					r, err := nodes[1].Open(b.Context(), id, part)
					if err != nil {
						return err
					}
					defer r.Close()
					_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{io.NewSectionReader(r, 0, r.Size())}, buf)
					return err
				})
			})
		}
	}
}
