package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
)

// readOnlyJob is a job of two ranks whose parallel file system nobody can write to any more when it comes to its end.
type readOnlyJob struct {
	t      *testing.T
	mode   AsyncMode
	levels string

	home     *vfs.Mem
	nodes    [2]*vfs.Mem
	readOnly atomic.Bool
	steps    int
	mu       sync.Mutex
	first    int // iteration of the last start
	errs     []error
}

// start runs it until it ends; asks is where it is asked to; in Finish: where it has done all steps.
func (j *readOnlyJob) start(asks int) {
	j.errs = make([]error, 2)
	home := vfs.WithErrors(j.home, func(op vfs.Op) error {
		if j.readOnly.Load() && (op.Kind.Mutates() || op.Kind == vfs.OpOverwrite) {
			return syscall.EROFS
		}
		return nil
	})
	cluster := &afttest.Cluster{Nodes: 2}
	_ = cluster.Run(j.t.Context(), 2, func(ctx context.Context, r *afttest.Rank) error {
		err := j.rank(ctx, r, home, func(cp *Checkpoint, iter int) error {
			if iter != asks {
				return nil
			}
			if err := errors.Join(cp.Flush(ctx), comm.Barrier(ctx, r.Comm())); err != nil { // what there was is at home
				return err
			}
			j.readOnly.Store(true)
			cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: demand.NoLimit})
			err := eventually(func() bool { d, _ := cp.meet.point.End(); return d != nil })
			cp.meet.point.Plan() // waits until calls are held, too
			return err
		})
		j.errs[r.Comm().Rank()] = err
		return nil
	})
}

func (j *readOnlyJob) rank(ctx context.Context, r *afttest.Rank, home vfs.FS, before func(*Checkpoint, int) error) (err error) {
	c, node := r.Comm(), j.nodes[r.Node()]
	cp, err := New("loop", c, WithPath("/cp"), WithAsync(j.mode), withLevels(j.levels), withFS(home), WithNodePath(nodeRoot(r.Node())),
		func(o *options) { o.nodeFS = node })
	if err != nil {
		return err
	}
	defer func() { _ = cp.Close() }() // what it cannot leave at home is no news
	sum, iter := 0, 0
	if err := errors.Join(cp.Add("sum", &sum), cp.Commit(), cp.RestartIfNeeded(ctx, &iter)); err != nil {
		return err
	}
	j.mu.Lock()
	j.first = iter
	j.mu.Unlock()
	for ; iter < j.steps; iter++ {
		if err := cp.Wait(ctx); err != nil {
			return err
		}
		sum = sum*3 + iter
		if err := before(cp, iter); err != nil {
			return err
		}
		if err := cp.UpdateAndWrite(ctx, iter, 4); err != nil {
			return err
		}
	}
	if err := before(cp, iter); err != nil {
		return err
	}
	if err := cp.Finish(ctx, iter-1); err != nil {
		return err
	}
	for i := range j.steps {
		sum -= pow3(j.steps-1-i) * i
	}
	if sum != 0 {
		return errors.New("another result")
	}
	return nil
}

func pow3(n int) int {
	p := 1
	for range n {
		p *= 3
	}
	return p
}

// TestEndWithAReadOnlyHome: the error says so, the code is 75, and what was stored before is whole: the next start goes on from
// the nodes, if they are there and have more, or from there.
func TestEndWithAReadOnlyHome(t *testing.T) {
	for _, mode := range allModes {
		for _, levels := range []string{"", "local:1,pfs:1"} {
			for _, asks := range []int{6, 8} { // 8: in Finish
				for _, nodesStay := range []bool{true, false} {
					if levels == "" && !nodesStay {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%d/%v", mode, levels, asks, nodesStay), func(t *testing.T) {
						j := &readOnlyJob{t: t, mode: mode, levels: levels, home: vfs.NewMem(), nodes: [2]*vfs.Mem{vfs.NewMem(), vfs.NewMem()}, steps: 8}
						j.endsAndGoesOn(asks, nodesStay)
					})
				}
			}
		}
	}
}

func (j *readOnlyJob) endsAndGoesOn(asks int, nodesStay bool) {
	j.start(asks)
	said := false
	for _, err := range j.errs {
		var d *DeadlineError
		require.ErrorAs(j.t, err, &d)
		require.Equal(j.t, ExitRequeue, ExitCode(err))
		require.ErrorContains(j.t, err, syscall.EROFS.Error())
		said = said || errors.Is(err, syscall.EROFS)
		if j.levels == "" {
			require.False(j.t, d.Saved, err)
			require.EqualValues(j.t, 4, d.Iteration, err)
		} else {
			require.True(j.t, d.Saved, err)
			require.NotZero(j.t, d.Level, err)
			require.ErrorContains(j.t, err, "not on the parallel file system")
		}
	}
	require.True(j.t, said, "%v", j.errs)
	j.readOnly.Store(false)
	_ = j.home.Remove("/cp/loop/.lock") // which could not be given back
	want := 5
	if j.levels != "" && nodesStay {
		want = min(asks+1, j.steps)
	}
	if !nodesStay {
		j.nodes = [2]*vfs.Mem{vfs.NewMem(), vfs.NewMem()}
	}
	j.start(-1)
	require.NoError(j.t, errors.Join(j.errs...))
	require.Equal(j.t, want, j.first)
}
