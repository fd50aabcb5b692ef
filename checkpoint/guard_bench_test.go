//go:build linux

package checkpoint

import (
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkFinite writes versions without a guard, and with the one of CRAFT_GUARD, in
// turn: %of-plain is what remains of the speed.
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
				round := func(first int) (took [2]time.Duration) {
					for k := range rivals {
						i := (first + k) % 2
						took[i] = timed(b, func() error {
							if err := rivals[i].Write(b.Context()); err != nil {
								return err
							}
							return rivals[i].Wait(b.Context())
						})
						clean(b, filepath.Join(dir, guards[i]))
					}
					return took
				}
				round(0) // buffers are made once
				var p pairs
				for n := 0; b.Loop(); n++ {
					took := round(n)
					p.add(took[0], took[1])
				}
				p.report(b)
			})
		})
	}
}
