package async

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/craft-go/craft/internal/testseed"
)

const testPiece = 1 << 10

// scribe writes its bytes in parts of random size.
type scribe struct {
	data  []byte
	sizes *rand.Rand
	err   error
}

func (s scribe) WriteTo(w io.Writer) (int64, error) {
	left := s.data
	for len(left) > 0 {
		n, err := w.Write(left[:min(len(left), 1+s.sizes.IntN(2*testPiece))])
		left = left[n:]
		if err != nil {
			return int64(len(s.data) - len(left)), err
		}
	}
	return int64(len(s.data)), s.err
}

// What is taken out is what was copied in, also when the ring is much smaller
// than the version and pieces are released late and out of order.
func TestStaging(t *testing.T) {
	rng := testseed.Rand(t)
	for range 60 {
		limit := []int64{0, MinStaging(testPiece), 7 * testPiece, 100 * testPiece}[rng.IntN(4)]
		s, err := NewStaging(limit, testPiece)
		require.NoError(t, err)
		for range 3 {
			stageVersion(t, s, rng)
			require.True(t, limit == 0 || s.Allocated() <= limit)
		}
		require.NoError(t, s.Free())
		require.Zero(t, s.Allocated())
	}
}

func stageVersion(t *testing.T, s *Staging, rng *rand.Rand) {
	var values [][]byte
	want := int64(0)
	for range rng.IntN(40) {
		v := make([]byte, []int{0, 8, 100, testPiece, testPiece + 1, rng.IntN(9 * testPiece)}[rng.IntN(6)])
		for i := range v {
			v[i] = byte(rng.Uint32())
		}
		values = append(values, v)
		want += int64(len(v))
	}
	require.NoError(t, s.Begin(rng.Int64N(want+1)))
	in, out := rand.New(rand.NewPCG(rng.Uint64(), 1)), rand.New(rand.NewPCG(rng.Uint64(), 2))
	g, ctx := errgroup.WithContext(t.Context())
	g.Go(func() error {
		var err error
		for _, v := range values {
			if err == nil && in.IntN(2) == 0 {
				cut := in.IntN(len(v) + 1)
				spans := [][]byte{v[:cut], nil, v[cut:]}
				err = s.Copy(ctx, spans)
			} else if err == nil {
				err = s.CopyFrom(ctx, scribe{data: v, sizes: in})
			}
		}
		s.Seal(err)
		return err
	})
	g.Go(func() error {
		var held []int64
		for i, v := range values {
			var have []byte
			for {
				p, token, last, err := s.Next(ctx)
				if err != nil {
					return err
				}
				if !last && len(p) != testPiece {
					t.Errorf("a piece of %d bytes that is not the last", len(p))
				}
				have = append(have, p...)
				if held = append(held, token); out.IntN(3) == 0 || len(held) == 3 {
					out.Shuffle(len(held), func(a, b int) { held[a], held[b] = held[b], held[a] })
					for _, token := range held {
						s.Release(token)
					}
					held = held[:0]
				}
				if last {
					break
				}
			}
			if !bytes.Equal(v, have) {
				t.Errorf("value %d of %d bytes came out differently", i, len(v))
			}
		}
		return nil
	})
	require.NoError(t, g.Wait())
	require.Equal(t, want, s.total)
}

// The writing side gets the copying side's error, and nothing hangs when one of
// them gives up.
func TestStagingWhenOneSideGivesUp(t *testing.T) {
	s, err := NewStaging(MinStaging(testPiece), testPiece)
	require.NoError(t, err)
	broken := errors.New("broken")

	require.NoError(t, s.Begin(0))
	err = s.CopyFrom(t.Context(), scribe{data: make([]byte, 10), sizes: rand.New(rand.NewPCG(1, 1)), err: broken})
	require.ErrorIs(t, err, broken)
	s.Seal(err)
	_, _, _, err = s.Next(t.Context())
	require.ErrorIs(t, err, broken)

	require.NoError(t, s.Begin(0))
	copied := make(chan error, 1)
	go func() { copied <- s.Copy(t.Context(), [][]byte{make([]byte, 100*testPiece)}) }()
	_, _, _, err = s.Next(t.Context())
	require.NoError(t, err)
	s.Abandon()
	require.ErrorIs(t, <-copied, ErrAborted)

	require.NoError(t, s.Begin(0))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { copied <- s.Copy(ctx, [][]byte{make([]byte, 100*testPiece)}) }()
	_, _, _, err = s.Next(ctx)
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-copied, context.Canceled)
	for err == nil { // what was copied before may still come out
		_, _, _, err = s.Next(ctx)
	}
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, s.Free())
}

// The writing waits until the program no longer does, unless memory is short.
func TestWritingBeginsWhenTheCopyIsWhole(t *testing.T) {
	s, err := NewStaging(0, testPiece)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Free()) }()
	require.NoError(t, s.Begin(0))
	require.NoError(t, s.Copy(t.Context(), [][]byte{make([]byte, 100)}))
	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, _, _, err = s.Next(soon)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	s.Seal(nil)
	p, _, last, err := s.Next(t.Context())
	require.NoError(t, err)
	require.True(t, last)
	require.Len(t, p, 100)
}

func TestNewStagingRefusesTooLittle(t *testing.T) {
	_, err := NewStaging(MinStaging(testPiece)-1, testPiece)
	require.ErrorContains(t, err, "4096 or more")
}
