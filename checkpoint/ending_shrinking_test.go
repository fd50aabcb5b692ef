package checkpoint

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/testseed"
)

// TestEndAfterShrinking: a job that has lost a node, and has gone on with fewer ranks from what is in memory, is asked to end
// before, at once, or later. It ends with 75 and its last version at home, where the next start goes on from it, with as many
// ranks as were left or as there were at first.
func TestEndAfterShrinking(t *testing.T) {
	ask := func(w *memoryWorld) {
		w.cluster.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: time.Hour})
	}
	rng := testseed.Rand(t)
	for moment, set := range map[string]func(w *memoryWorld){
		"before the loss": func(w *memoryWorld) { w.killsAt(5, func() { ask(w) }) },
		"when it has gone on": func(w *memoryWorld) {
			w.killsAt(5, func() {})
			w.restored = func(p *memoryProgram) error {
				if p.epoch() > 0 && p.c.Rank() == 0 {
					ask(w)
				}
				return nil
			}
		},
		"some steps later": func(w *memoryWorld) {
			w.killsAt(5, func() {})
			kill := w.step
			w.step = func(p *memoryProgram) error {
				if p.epoch() > 0 && p.iter == 8 && p.c.Rank() == 0 {
					ask(w)
				}
				return kill(p)
			}
		},
	} {
		for _, levels := range []string{"mem", "mem:1,local:100", "mem:1,pfs:100"} {
			for _, mode := range choose(rng, modes, 3) {
				t.Run(moment+"/"+levels+"/"+mode, func(t *testing.T) { endsAfterShrinking(t, levels, mode, set) })
			}
		}
	}
}

func endsAfterShrinking(t *testing.T, levels, mode string, set func(*memoryWorld)) {
	w := newMemoryWorld(t, 4, 2, levels, inMode(mode))
	w.recovery, w.until = comm.Shrinking, 1<<20
	set(w)
	var size atomic.Int64 // of the last attempt
	w.begins = func(p *memoryProgram) { size.Store(int64(p.c.Size())) }
	var d *DeadlineError
	require.ErrorAs(t, w.job(), &d)
	require.EqualValues(t, 2, size.Load(), "it has shrunk")
	require.Equal(t, ExitRequeue, ExitCode(d))
	require.Zero(t, d.Level, "at home: %v", d)
	require.NoError(t, d.Err)
	next := int(d.Iteration) + 1
	require.GreaterOrEqual(t, next, 5, "%v", d)
	require.GreaterOrEqual(t, next, w.restarts[len(w.restarts)-1], "%v", d)
	for _, ranks := range []int{2, 4} {
		left := newMemoryWorld(t, ranks, 2, levels, inMode(mode))
		left.recovery, left.cells, left.until = comm.Shrinking, w.cells, next+3
		left.home = w.home.Crash(1, nil)
		_ = left.home.Remove("/pfs/prog/.lock")
		left.run()
		require.Equal(t, []int{next}, left.restarts, "%d ranks: %s", ranks, w.log.String())
	}
}
