package checkpoint

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
)

// killsAt has all ranks come to an iteration of the first attempt, and a node killed there, before which rank 0 does something.
func (w *memoryWorld) killsAt(iter int, before func()) {
	w.step = func(p *memoryProgram) error {
		if p.epoch() > 0 || p.iter != iter {
			return nil
		}
		if err := comm.Barrier(w.t.Context(), p.c); err != nil {
			return err
		}
		if p.c.Rank() == 0 {
			before()
			p.rank.KillNode(1)
		}
		return nil
	}
}

// An attempt that goes on from memory keeps the deadline, too.
func TestDeadlineAfterARecoveryFromMemory(t *testing.T) {
	w := newMemoryWorld(t, 4, 2, "mem:1,local:100")
	w.until = 1000
	w.killsAt(5, func() {})
	w.restored = func(p *memoryProgram) error {
		if p.epoch() > 0 && p.c.Rank() == 0 {
			w.cluster.Ask(demand.Demand{Cause: demand.Deadline, Planned: true, Source: "CRAFT_DEADLINE", Left: time.Second})
		}
		return nil
	}
	require.ErrorIs(t, w.job(), ErrDeadline)
}

// A job that is to end and has recovered brings home what it went on from: on the nodes it would end with the job.
func TestEndAfterARecoveryComesHome(t *testing.T) {
	for _, levels := range []string{"mem:1,local:100", "partner"} {
		w := newMemoryWorld(t, 4, 2, levels)
		w.killsAt(5, func() { w.cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: time.Hour}) })
		require.ErrorIs(t, w.job(), ErrDeadline)
		for i := range w.nodes {
			w.nodes[i] = vfs.NewMem() // the nodes are given to others
		}
		w.step = nil
		w.run()
		last := w.restarts[len(w.restarts)-1]
		require.Contains(t, []int{5, 6}, last, "%s: the attempt that has recovered ends as soon as it hears of it", levels)
	}
}

// What one rank cannot bring home in time stays on the nodes, and all ranks end with that.
func TestEndWithoutTimeToComeHome(t *testing.T) {
	w := newMemoryWorld(t, 2, 2, "partner")
	var slow atomic.Bool
	over := make(chan struct{})
	w.atHome = func(r *afttest.Rank, op vfs.Op) error {
		if slow.Load() && r.Node() == 1 && strings.Contains(op.Path, "-0000") {
			<-over
		}
		return nil
	}
	w.step = func(p *memoryProgram) error {
		if p.iter == 5 && p.c.Rank() == 0 {
			slow.Store(true)
			w.cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: 2 * time.Second})
		}
		return nil
	}
	var ended sync.Map
	w.refused = func(p *memoryProgram, err error) error {
		ended.Store(p.c.Rank(), err)
		if barrier := comm.Barrier(t.Context(), p.c); barrier != nil {
			return barrier
		}
		if p.c.Rank() == 0 {
			close(over)
		}
		return err
	}
	w.until = 1 << 20
	require.ErrorIs(t, w.job(), ErrDeadline)
	for rank := range 2 {
		var d *DeadlineError
		err, _ := ended.Load(comm.Rank(rank))
		require.ErrorAs(t, err.(error), &d)
		require.True(t, d.Saved)
		require.NotZero(t, d.Level)
		require.ErrorContains(t, err.(error), "the time for it is over")
		require.Equal(t, ExitRequeue, ExitCode(d))
	}
}

// lastVersions are those as which the last one is tried in TestEndBringsHomeTheVersionBefore.
var lastVersions = regexp.MustCompile("v-00000[6-8]")

// Where the last version cannot be written the one before comes home, also in the modes in which it is written later.
func TestEndBringsHomeTheVersionBefore(t *testing.T) {
	for _, mode := range modes {
		w := newMemoryWorld(t, 2, 2, "partner", inMode(mode))
		var full atomic.Bool
		w.onNode = func(op vfs.Op) error {
			if full.Load() && op.Kind != vfs.OpRead && op.Kind != vfs.OpOpen && lastVersions.MatchString(op.Path) {
				return errLost
			}
			return nil
		}
		w.step = func(p *memoryProgram) error {
			if p.iter == 5 && p.c.Rank() == 0 {
				full.Store(true)
				w.cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: time.Hour})
			}
			return comm.Barrier(t.Context(), p.c)
		}
		w.refused = func(p *memoryProgram, err error) error {
			if errors.Is(err, ErrDeadline) {
				return err
			}
			w.t.Log(err)
			return nil
		}
		require.ErrorIs(t, w.job(), ErrDeadline, mode)
		for i := range w.nodes {
			w.nodes[i] = vfs.NewMem()
		}
		w.step = nil
		w.run()
		require.Contains(t, []int{5, 7, 8, 9}, w.restarts[1], mode)
	}
}
