package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
)

// A program that never heard of Wait, and zero-copy by environment: a torn version is
// not stored, its key is named, the versions after it are copied first, also those of
// a checkpoint that is made anew, and it is said once.
func TestZeroCopyByEnvironmentIsChecked(t *testing.T) {
	if raceEnabled {
		t.Skip("what it does wrong is a race")
	}
	t.Setenv("CRAFT_WRITE_ASYNC_ZERO_COPY", "1")
	t.Setenv("CRAFT_ASYNC_STAGING", "16KiB")
	for _, ranks := range []int{1, 2} {
		for _, delta := range []bool{false, true} {
			mem := vfs.NewMem()
			disk := newGate(mem)
			var log syncBuffer
			dir := fmt.Sprint("/", ranks, delta) // of its own: what is known of a program is known of a directory
			start := func(c *comm.Comm) *program {
				fsys := vfs.FS(mem)
				if int(c.Rank()) == ranks-1 {
					fsys = disk // of this rank alone: it is its own write that must wait
				}
				return newProgram(t, c, true, WithPath(dir), withFS(fsys), loggedTo(&log), func(o *options) {
					o.zeroCopyFrom, o.chunkSize, o.Delta = 1, 4<<10, delta
				})
			}
			err := afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
				p := start(c)
				tear := func() error { // changes what is being written
					last := int(c.Rank()) == ranks-1
					if last {
						disk.hold()
					}
					err := p.advance(ctx, 1)
					p.iter++
					if last {
						<-disk.held
						p.v[17]++
						disk.open()
						err = errors.Join(err, waitForPart(p.cp))
						p.v[17]--
					}
					return err
				}
				if err := p.cp.RestartIfNeeded(ctx, &p.iter); err != nil {
					return err
				}
				err := errors.Join(tear(), p.cp.Wait(ctx))
				var failed *AsyncError
				if !errors.Is(err, ErrChanged) || !errors.As(err, &failed) || failed.Version != 1 || !strings.Contains(err.Error(), `key "v"`) {
					return fmt.Errorf("a change was not found: %w", err)
				}
				for range 3 {
					if err := errors.Join(tear(), p.cp.Wait(ctx)); err != nil {
						return fmt.Errorf("a copy is torn: %w", err)
					}
				}
				if err := errors.Join(comm.Barrier(ctx, c), p.cp.Close()); err != nil {
					return err
				}
				p = start(c)
				if err := p.cp.RestartIfNeeded(ctx, &p.iter); err != nil {
					return err
				}
				return errors.Join(tear(), p.cp.Wait(ctx), p.cp.Close())
			})
			require.NoError(t, err, "%d ranks", ranks)
			require.Equal(t, 1, strings.Count(log.String(), "CRAFT_WRITE_ASYNC_ZERO_COPY=1 is not for this program"))
			err = afttest.Run(t.Context(), ranks, func(ctx context.Context, c *comm.Comm) error {
				p := newProgram(t, c, true, WithPath(dir), withFS(mem), inMode("off"))
				defer p.cp.Close()
				wantV, _ := reference(5)
				err := p.cp.RestartIfNeeded(ctx, &p.iter)
				require.Equal(t, 5, p.iter)
				require.Equal(t, wantV[p.lo:p.hi], p.v)
				return err
			})
			require.NoError(t, err)
		}
	}
}

// waitForPart waits until this rank has written its part.
func waitForPart(cp *Checkpoint) error {
	f := cp.line.flight.Load()
	if f == nil {
		return errors.New("nothing is being written")
	}
	<-f.ticket.Done()
	return nil
}

// A program that asks for zero-copy itself is believed: there is no look at its
// values, and what it stores is what it had at the time.
func TestZeroCopyByOptionIsTheProgramsWord(t *testing.T) {
	t.Setenv("CRAFT_WRITE_ASYNC_ZERO_COPY", "1")
	p := newProgram(t, nil, true, WithPath("/word"), withFS(vfs.NewMem()), inMode("zero-copy"))
	require.NoError(t, p.advance(t.Context(), 1))
	require.Empty(t, p.cp.line.flight.Load().checks)
	require.NoError(t, p.cp.Close())
	q := newProgram(t, nil, true, WithPath("/word"), withFS(vfs.NewMem()), func(o *options) { o.zeroCopyFrom = 1 })
	require.NoError(t, q.advance(t.Context(), 1))
	require.Len(t, q.cp.line.flight.Load().checks, 3)
	require.NoError(t, q.cp.Close())
}
