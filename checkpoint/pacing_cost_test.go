package checkpoint

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
)

// Checkpoints in one another have a schedule each, also when the inner one is made anew for each stage.
func TestNestedTriggers(t *testing.T) {
	for name, anew := range map[string]bool{"kept": false, "made anew": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const stages, steps = 60, 6
				home := vfs.NewMem()
				require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, co *comm.Comm) error {
					outer := newPaced(t, co, home, WithTriggers(EveryTime(10*time.Minute)))
					outer.begin(t, ctx)
					var inner *paced
					versions, skipped := 0, 0
					for range stages {
						if inner == nil || anew {
							inner = newInner(t, co, home)
							require.NoError(t, outer.cp.SubCP(inner.cp))
						}
						inner.iter = 0
						inner.begin(t, ctx)
						last := inner.cp.Stats()
						if err := inner.steps(ctx, steps, 0, 10*time.Second); err != nil {
							return err
						}
						versions += inner.cp.Stats().VersionsWritten - last.VersionsWritten
						skipped += inner.cp.Stats().VersionsSkipped - last.VersionsSkipped
						if anew {
							require.NoError(t, inner.cp.Close())
						}
						if err := outer.steps(ctx, 1, 0, 0); err != nil {
							return err
						}
					}
					require.InDelta(t, 6, outer.cp.Stats().VersionsWritten, 1)
					// A version of the inner one is due every 50 s. In the first stage, and right behind each version of
					// the outer one, it can be restored: one that has waited for that, and a second one in the
					// minute of the stage. In all other stages it could not be, and is asked for once.
					require.GreaterOrEqual(t, versions, 6)
					require.LessOrEqual(t, versions, 14)
					require.LessOrEqual(t, skipped, stages)
					if !anew {
						require.LessOrEqual(t, skipped, 7)
						require.NoError(t, inner.cp.Close())
					}
					return outer.cp.Close()
				}))
			})
		})
	}
}

func newInner(t require.TestingT, co *comm.Comm, home vfs.FS) *paced {
	p := &paced{}
	var err error
	p.cp, err = New("inner", co, WithPath("/pfs"), withFS(home), WithLogger(nil), WithTriggers(EveryTime(50*time.Second)))
	require.NoError(t, err)
	require.NoError(t, p.cp.Add("x", &p.value))
	require.NoError(t, p.cp.Commit())
	return p
}

// A call that is not due says nothing to anybody: either rank can make it while the other one does not, and it
// allocates nothing.
func TestNotDueSaysNothing(t *testing.T) {
	collectAsUsual(t)
	for name, triggers := range map[string][]Trigger{
		"none": nil, "iterations": {Every(1 << 40)}, "time": {EveryTime(time.Hour)}, "auto": {Auto()}, "all": {Auto(), EveryTime(time.Hour), Every(1 << 40)},
	} {
		t.Run(name, func(t *testing.T) {
			home := vfs.NewMem()
			require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, co *comm.Comm) error {
				p := newPaced(t, co, home, WithTriggers(triggers...))
				p.begin(t, ctx)
				require.NoError(t, p.cp.Write(ctx)) // the ranks have met
				if k := p.cp.pace.own; k != nil {
					k.next = 1 << 30
				}
				said := 0
				stop := co.Session().Observe(&comm.Observer{Collective: func(comm.Collective) func(error) {
					said++
					return nil
				}})
				for turn := range comm.Rank(2) {
					if turn == co.Rank() {
						p.cp.up.lastRecord = time.Now().Add(time.Hour) // which rank 0 writes now and then
						allocated := testing.AllocsPerRun(1000, func() {
							p.iter++
							if err := p.cp.UpdateAndWrite(ctx, p.iter, 1<<40); err != nil {
								t.Error(err)
							}
						})
						require.Zero(t, allocated)
						require.Zero(t, said)
					}
					if err := comm.Barrier(ctx, co); err != nil {
						return err
					}
					said = 0
				}
				stop()
				return p.cp.Close()
			}))
		})
	}
}

// TestTimedNotDueIsCheap is the mark of 1 us for a call that is not due with triggers that go by time, with room for
// a slow machine.
func TestTimedNotDueIsCheap(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector costs more")
	}
	p := newPaced(t, nil, vfs.NewMem(), WithTriggers(EveryTime(time.Hour), Auto(), Every(1<<40)))
	require.NoError(t, p.cp.Write(t.Context()))
	p.cp.pace.own.schedule.Start(time.Hour) // nothing becomes due in the test
	best, deadline := time.Hour, time.Now().Add(30*time.Second)
	for tries := 0; tries < 20 || best > 3*time.Microsecond && time.Now().Before(deadline); tries++ {
		start := time.Now()
		for range 10_000 {
			p.iter++
			_ = p.cp.UpdateAndWrite(t.Context(), p.iter, 1<<40)
		}
		best = min(best, time.Since(start)/10_000)
	}
	require.LessOrEqual(t, best, 3*time.Microsecond)
	t.Logf("%v per call", best)
	require.NoError(t, p.cp.Close())
}

// BenchmarkNotDueTriggers: go test ./checkpoint -run ^$ -bench NotDue
func BenchmarkNotDueTriggers(b *testing.B) {
	for _, c := range []struct {
		name     string
		ranks    int
		triggers []Trigger
	}{
		{"none", 1, nil}, {"iterations", 1, []Trigger{Every(1 << 40)}},
		{"time", 1, []Trigger{EveryTime(time.Hour)}}, {"auto", 1, []Trigger{Auto()}},
		{"time of 2 ranks", 2, []Trigger{EveryTime(time.Hour)}}, {"auto of 2 ranks", 2, []Trigger{Auto()}},
	} {
		b.Run(c.name, func(b *testing.B) {
			home := vfs.NewMem()
			err := afttest.Run(b.Context(), c.ranks, func(ctx context.Context, co *comm.Comm) error {
				p := newPaced(b, co, home, WithTriggers(c.triggers...))
				p.begin(b, ctx)
				if err := p.cp.Write(ctx); err != nil {
					return err
				}
				if k := p.cp.pace.own; k != nil {
					k.schedule.Start(time.Hour)
					k.next = 1 << 62
				}
				for co.Rank() == 0 && b.Loop() {
					p.iter++
					if err := p.cp.UpdateAndWrite(ctx, p.iter, 1<<40); err != nil {
						return err
					}
				}
				return p.cp.Close()
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
