package checkpoint

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
)

// fullFor is a disk that is full for the versions whose numbers are given.
func fullFor(disk vfs.FS, versions ...string) vfs.FS {
	return vfs.WithErrors(disk, func(op vfs.Op) error {
		for _, v := range versions {
			if op.Kind == vfs.OpWrite && strings.Contains(op.Path, "v-"+v+"-") {
				return syscall.ENOSPC
			}
		}
		return nil
	})
}

// What has become of an earlier version is no error of a Finish whose own version is stored.
func TestFinishAfterAVersionThatFailed(t *testing.T) {
	for _, mode := range allModes {
		t.Run(string(mode), func(t *testing.T) {
			var log syncBuffer
			mem, sum := vfs.NewMem(), 0
			disk := fullFor(mem, "000002")
			cp, err := New("loop", nil, WithPath("/cp"), withFS(disk), withPoint(demand.NewLocal()), WithAsync(mode), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			require.NoError(t, err)
			require.NoError(t, errors.Join(cp.Add("sum", &sum), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil), cp.UpdateAndWrite(t.Context(), 0, 1)))
			if err := cp.UpdateAndWrite(t.Context(), 1, 1); mode == AsyncOff {
				require.ErrorIs(t, err, syscall.ENOSPC)
			}
			require.NoError(t, cp.Finish(t.Context(), 2))
			require.True(t, cp.Finished())
			if mode != AsyncOff {
				require.Contains(t, log.String(), "an earlier version could not be written")
			}
			require.NoError(t, cp.Close())
		})
	}
}

// A last version that cannot be written is an error of that version, and the end of a job that was asked to end.
func TestFinishThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		left time.Duration // demand.NoLimit: nobody asks for the end
		code int
	}{"nobody asks": {demand.NoLimit, ExitFailed}, "time left": {time.Hour, ExitRequeue}, "time over": {0, ExitRequeue}} {
		for _, mode := range allModes {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				p, sum := demand.NewLocal(), 0
				disk := fullFor(vfs.NewMem(), "000002", "000003", "000004") // 4: a full disk is tried again
				cp, err := New("loop", nil, WithPath("/cp"), withFS(disk), withPoint(p), WithAsync(mode))
				require.NoError(t, err)
				require.NoError(t, errors.Join(cp.Add("sum", &sum), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil), cp.UpdateAndWrite(t.Context(), 0, 1)))
				if mode != AsyncOff {
					require.NoError(t, cp.UpdateAndWrite(t.Context(), 1, 1), "nobody knows yet")
				}
				if c.left != demand.NoLimit {
					p.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: c.left})
				}
				err = cp.Finish(t.Context(), 2)
				require.ErrorIs(t, err, syscall.ENOSPC)
				require.Equal(t, c.code, ExitCode(err), "%v", err)
				require.Equal(t, c.code == ExitRequeue, errors.Is(err, ErrDeadline))
				require.False(t, cp.Finished())
				var d *DeadlineError
				var a *AsyncError
				switch {
				case errors.As(err, &d):
					require.False(t, d.Saved)
					require.EqualValues(t, 1, d.Version)
					require.Equal(t, err, cp.Finish(t.Context(), 2), "the job has ended")
				case mode != AsyncOff:
					require.ErrorAs(t, err, &a)
					require.EqualValues(t, 3, a.Version, "that of Finish: %v", err)
					require.ErrorContains(t, err, "version 2, of iteration 1", "what was before is told, too")
				}
				require.NoError(t, cp.Close())
			})
		}
	}
}

// The end may be asked for when Finish has begun: its version that cannot be written then is one that the next start computes.
func TestFinishThatFailsWhenTheEndIsAskedFor(t *testing.T) {
	for _, mode := range allModes {
		p, sum := demand.NewLocal(), 0
		disk := vfs.WithErrors(vfs.NewMem(), func(op vfs.Op) error {
			if op.Kind == vfs.OpWrite && (strings.Contains(op.Path, "v-000002-") || strings.Contains(op.Path, "v-000003-")) {
				p.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: time.Hour})
				return syscall.ENOSPC
			}
			return nil
		})
		cp, err := New("loop", nil, WithPath("/cp"), withFS(disk), withPoint(p), WithAsync(mode))
		require.NoError(t, err)
		require.NoError(t, errors.Join(cp.Add("sum", &sum), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil), cp.UpdateAndWrite(t.Context(), 0, 1), cp.Wait(t.Context())))
		err = cp.Finish(t.Context(), 2)
		require.ErrorIs(t, err, ErrDeadline, "%v", mode)
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.Equal(t, ExitRequeue, ExitCode(err))
		require.Contains(t, err.Error(), "the last version is 1")
		require.NoError(t, cp.Close())
	}
}

// So it is of ranks, of which the others may hear of that later.
func TestFinishThatFailsOfRanksThatAreAsked(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			w := newMemoryWorld(t, 2, 2, "partner", inMode(mode))
			var full atomic.Bool
			var of sync.Map // points of ranks
			full.Store(true)
			w.atHome = func(r *afttest.Rank, op vfs.Op) error {
				if !full.Load() || r.Node() != 1 || op.Kind != vfs.OpWrite || !strings.Contains(op.Path, "v-000011-") {
					return nil
				}
				w.cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: time.Hour})
				point, _ := of.Load(comm.Rank(1))
				return errors.Join(eventually(func() bool { end, _ := point.(*demand.Point).End(); return end != nil }), syscall.ENOSPC)
			}
			var ended sync.Map
			w.last = func(p *memoryProgram) error {
				of.Store(p.c.Rank(), p.cp.meet.point)
				if err := comm.Barrier(t.Context(), p.c); err != nil {
					return err
				}
				err := p.cp.Finish(t.Context(), p.iter-1)
				ended.Store(p.c.Rank(), err)
				return err
			}
			require.Error(t, w.job())
			for rank := range 2 {
				err, _ := ended.Load(comm.Rank(rank))
				require.ErrorIs(t, err.(error), ErrDeadline, "rank %d", rank)
				require.Equal(t, ExitRequeue, ExitCode(err.(error)))
				require.ErrorIs(t, err.(error), syscall.ENOSPC)
			}
			full.Store(false)
			w.last = nil
			w.run()
			require.Equal(t, []int{0, 10}, w.restarts)
		})
	}
}

// A Finish whose context has ended before has stored nothing, and says so, whether the job is to end or not.
func TestFinishWithoutAContext(t *testing.T) {
	for _, asked := range []bool{false, true} {
		for _, mode := range allModes {
			p, sum := demand.NewLocal(), 0
			cp, err := New("loop", nil, WithPath("/cp"), withFS(vfs.NewMem()), withPoint(p), WithAsync(mode))
			require.NoError(t, err)
			require.NoError(t, errors.Join(cp.Add("sum", &sum), cp.Commit(), cp.RestartIfNeeded(t.Context(), nil)))
			if asked {
				p.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: time.Hour})
			}
			over, cancel := context.WithCancelCause(t.Context())
			cancel(errLost)
			err = cp.Finish(over, 2)
			require.ErrorIs(t, err, errLost, "%v, asked: %v", mode, asked)
			require.Equal(t, ExitFailed, ExitCode(err))
			require.False(t, cp.Finished())
			require.NoError(t, cp.Finish(t.Context(), 2), "with another one it can be made again")
			require.True(t, cp.Finished())
			require.NoError(t, cp.Close())
		}
	}
}

// Finish is asked to end while its version comes home: what does not come there in time is left on the nodes, all ranks end with 75, and
// the next start brings it home.
func TestFinishIsCutOff(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			w := newMemoryWorld(t, 2, 2, "partner", inMode(mode))
			var slow atomic.Bool
			slow.Store(true)
			over := make(chan struct{})
			w.atHome = func(r *afttest.Rank, op vfs.Op) error {
				if slow.Load() && r.Node() == 1 && strings.Contains(op.Path, "v-000011-") {
					w.cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: 300 * time.Millisecond})
					<-over
				}
				return nil
			}
			var ended sync.Map
			w.last = func(p *memoryProgram) error {
				err := p.cp.Finish(t.Context(), p.iter-1)
				ended.Store(p.c.Rank(), err)
				if barrier := comm.Barrier(context.WithoutCancel(t.Context()), p.c); barrier != nil {
					return barrier
				}
				if p.c.Rank() == 0 && slow.Swap(false) {
					close(over)
				}
				return err
			}
			require.ErrorIs(t, w.job(), ErrDeadline)
			for rank := range 2 {
				var d *DeadlineError
				err, _ := ended.Load(comm.Rank(rank))
				require.ErrorAs(t, err.(error), &d)
				require.True(t, d.Saved)
				require.EqualValues(t, 9, d.Iteration)
				require.NotZero(t, d.Level)
				require.Contains(t, d.Error(), "SIGTERM")
				require.Equal(t, ExitRequeue, ExitCode(d))
			}
			w.run()
			for i := range w.nodes {
				w.nodes[i] = vfs.NewMem() // the nodes are given to others
			}
			w.run()
			require.Equal(t, []int{0, 10, 10}, w.restarts)
		})
	}
}
