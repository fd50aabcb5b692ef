//go:build linux

package checkpoint

import (
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// processorTime is what the process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkFinite writes versions without a guard, and with the one of CRAFT_GUARD, in
// turn: %of-plain is what remains of the speed, and %of-plain-processor the same of the
// processor time, which does not depend as much on what else runs.
func BenchmarkFinite(b *testing.B) {
	for _, mode := range modes {
		b.Run(mode, func(b *testing.B) {
			places(b, func(b *testing.B, dir, sync string) {
				values := randomValues(benchBytes(), 1)
				var rivals [2]*Checkpoint
				guards := []string{guardOff, guardFinite}
				for i, guard := range guards {
					rivals[i] = benchCheckpoint(b, filepath.Join(dir, guard), sync, values, WithAsync(AsyncMode(mode)), func(o *options) { o.Guard = guard })
					defer rivals[i].Close()
				}
				round := func(first int) (took, used [2]time.Duration) {
					for k := range rivals {
						i := (first + k) % 2
						before := processorTime()
						took[i] = timed(b, func() error {
							if err := rivals[i].Write(b.Context()); err != nil {
								return err
							}
							return rivals[i].Wait(b.Context())
						})
						used[i] = processorTime() - before
						clean(b, filepath.Join(dir, guards[i]))
					}
					return took, used
				}
				round(0) // buffers are made once
				var p pairs
				var processor []float64
				for n := 0; b.Loop(); n++ {
					took, used := round(n)
					p.add(took[0], took[1])
					processor = append(processor, 100*used[0].Seconds()/used[1].Seconds())
				}
				p.report(b)
				slices.Sort(processor)
				b.ReportMetric(processor[len(processor)/2], "%of-plain-processor")
			})
		})
	}
}
