package exchange

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/embedded"
	"github.com/craft-go/craft/storage"
)

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

// BenchmarkWrite and BenchmarkRead move 64 MiB between two ranks of one process.
func BenchmarkWrite(b *testing.B) {
	piece := make([]byte, 1<<20)
	between(b, func(ctx context.Context, s *Service, size int64) error {
		w, err := s.Create(ctx, 1, "part")
		for n := int64(0); err == nil && n < size; n += int64(len(piece)) {
			_, err = w.Write(piece)
		}
		if err != nil {
			return err
		}
		return w.Commit()
	})
}

func BenchmarkRead(b *testing.B) {
	piece := make([]byte, 512<<10)
	between(b, func(ctx context.Context, s *Service, size int64) error {
		r, err := s.Open(ctx, 1, "part")
		if err != nil {
			return err
		}
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{io.NewSectionReader(r, 0, size)}, piece)
		if err != nil {
			return err
		}
		return r.Close()
	})
}

func between(b *testing.B, move func(ctx context.Context, s *Service, size int64) error) {
	const size = 64 << 20
	b.SetBytes(size)
	err := embedded.Run(b.Context(), 2, func(ctx context.Context, c comm.Comm) error {
		s := New(ctx, c, vacuum{size}, Options{})
		defer func() { _ = s.Close(ctx) }()
		for c.Rank() == 0 && b.Loop() {
			if err := move(ctx, s, size); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(b, err)
}
