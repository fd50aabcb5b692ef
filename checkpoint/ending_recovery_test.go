package checkpoint

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/demand"
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
			w.nodes[i] = newMemoryWorld(t, 1, 1, "mem").home // the nodes are given to others
		}
		w.step = nil
		w.run()
		last := w.restarts[len(w.restarts)-1]
		require.Contains(t, []int{5, 6}, last, "%s: the attempt that has recovered ends as soon as it hears of it", levels)
	}
}
