package exchange

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// benchSize is the size in bytes of the part that benchmarks move.
const benchSize = 256 << 20

// vacuum stores nothing and lends parts of one block of memory.
type vacuum struct{ size int64 }

func (v vacuum) Create(context.Context, comm.Rank, string) (storage.PartWriter, error) { return v, nil }
func (v vacuum) Open(context.Context, comm.Rank, string) (storage.PartReader, error)   { return v, nil }
func (v vacuum) Write(p []byte) (int, error)                                           { return len(p), nil }
func (v vacuum) ReadAt(p []byte, _ int64) (int, error)                                 { return len(p), nil }
func (v vacuum) Commit() error                                                         { return nil }
func (v vacuum) Abort() error                                                          { return nil }
func (v vacuum) Close() error                                                          { return nil }
func (v vacuum) Size() int64                                                           { return v.size }

// move brings a part to rank 1, or from it, in pieces of len(buf).
type move func(ctx context.Context, s *Service, buf []byte) error

var moves = map[string]move{"write": writePart, "read": readPart}

func writePart(ctx context.Context, s *Service, buf []byte) error {
	w, err := s.Create(ctx, 1, "part")
	for n := 0; err == nil && n < benchSize; n += len(buf) {
		_, err = w.Write(buf)
	}
	if err != nil {
		return err
	}
	return w.Commit()
}

func readPart(ctx context.Context, s *Service, buf []byte) error {
	r, err := s.Open(ctx, 1, "part")
	if err != nil {
		return err
	}
	for n := int64(0); err == nil && n < r.Size(); n += int64(len(buf)) {
		_, err = r.ReadAt(buf, n)
	}
	if err != nil && err != io.EOF {
		return err
	}
	return r.Close()
}

func eachMove(b *testing.B, bench func(b *testing.B, name string, m move, piece int)) {
	for _, name := range []string{"write", "read"} {
		for _, piece := range []int{1 << 20, 4 << 20} {
			b.Run(fmt.Sprintf("%s/piece=%dMiB", name, piece>>20), func(b *testing.B) { bench(b, name, moves[name], piece) })
		}
	}
}

// BenchmarkRanks moves 256 MiB between two ranks of one process.
func BenchmarkRanks(b *testing.B) {
	eachMove(b, func(b *testing.B, _ string, m move, piece int) {
		b.SetBytes(benchSize)
		buf := make([]byte, piece)
		err := afttest.Run(b.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
			s := New(ctx, c, vacuum{benchSize}, Options{})
			defer func() { _ = s.Close(ctx) }()
			for c.Rank() == 0 && b.Loop() {
				if err := m(ctx, s, buf); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(b, err)
	})
}
