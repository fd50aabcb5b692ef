//go:build linux

package checkpoint

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkCopyBlocks compares the time for which UpdateAndWrite blocks in copy
// mode, when staging has been used before, with a copy of the same bytes to
// memory that has been used before.
func BenchmarkCopyBlocks(b *testing.B) {
	for name, n := range map[string]int{"values=1": 1, "values=1000": 1000} {
		b.Run(name, func(b *testing.B) {
			values := randomValues(benchBytes()/4, n)
			spare := make([]float64, benchBytes()/4/8)
			places(b, func(b *testing.B, dir, sync string) {
				cp := benchCheckpoint(b, dir, sync, values, WithAsync(AsyncCopy))
				defer cp.Close()
				memcpy := func() error {
					at := 0
					for _, v := range values {
						at += copy(spare[at:], v)
					}
					return nil
				}
				_ = memcpy()
				writeAndWait(b, cp)
				clean(b, dir)
				var p pairs
				for b.Loop() {
					t1 := timed(b, memcpy)
					t2 := timed(b, func() error { return cp.UpdateAndWrite(b.Context(), 0, 1) })
					if err := cp.Wait(b.Context()); err != nil {
						b.Fatal(err)
					}
					clean(b, dir)
					p.add(t1, t2)
				}
				p.report(b)
			})
		})
	}
}

// BenchmarkLittleStaging writes values that are eight times as large as staging
// may be, and compares with the slower one of a copy and a plain write.
func BenchmarkLittleStaging(b *testing.B) {
	values := randomValues(benchBytes()/2, 1)
	spare := make([]float64, benchBytes()/2/8)
	places(b, func(b *testing.B, dir, sync string) {
		cp := benchCheckpoint(b, dir, sync, values, WithAsync(AsyncCopy), WithStaging(int64(benchBytes()/16)))
		defer cp.Close()
		plain := filepath.Join(dir, "plain")
		copy(spare, values[0])
		writeAndWait(b, cp)
		clean(b, dir)
		var p pairs
		for b.Loop() {
			t1 := timed(b, func() error { copy(spare, values[0]); return nil })
			t2 := timed(b, func() error { return plainWrite(plain, sync, values) })
			if err := os.Remove(plain); err != nil {
				b.Fatal(err)
			}
			t3 := timed(b, func() error { writeAndWait(b, cp); return nil })
			clean(b, dir)
			p.add(max(t1, t2), t3)
		}
		p.report(b)
	})
}

func writeAndWait(b *testing.B, cp *Checkpoint) {
	if err := cp.UpdateAndWrite(b.Context(), 0, 1); err != nil {
		b.Fatal(err)
	}
	if err := cp.Wait(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkNotDue is a call that writes nothing.
func BenchmarkNotDue(b *testing.B) {
	cp, err := New("bench", nil, WithPath(b.TempDir()), WithLogger(slog.New(slog.DiscardHandler)), WithAsync(AsyncCopy))
	if err != nil {
		b.Fatal(err)
	}
	defer cp.Close()
	x := 1
	_ = cp.Add("x", &x)
	if err := cp.Commit(); err != nil {
		b.Fatal(err)
	}
	if err := cp.Write(b.Context()); err != nil {
		b.Fatal(err)
	}
	i := 1
	for b.Loop() {
		if err := cp.UpdateAndWrite(b.Context(), i, 1<<62); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// TestNotDueIsCheap is the mark of 100 ns for a call that is not due, with room
// for a slow machine, and no allocation.
func TestNotDueIsCheap(t *testing.T) {
	x := 1
	cp := open(t, t.TempDir(), map[string]any{"x": &x}, WithAsync(AsyncCopy))
	ctx := t.Context()
	require.NoError(t, cp.Write(ctx))
	i := 1
	call := func() {
		_ = cp.UpdateAndWrite(ctx, i, 1<<62)
		i++
	}
	// The machine may be busy with others: what counts is the best of many tries.
	deadline := time.Now().Add(30 * time.Second)
	allocations := testing.AllocsPerRun(100, call)
	for allocations != 0 && time.Now().Before(deadline) {
		allocations = min(allocations, testing.AllocsPerRun(100, call))
	}
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
	best, limit := time.Hour, 300*time.Nanosecond
	if raceEnabled {
		limit = time.Hour
	}
	for tries := 0; tries < 20 || best > limit && time.Now().Before(deadline); tries++ {
		start := time.Now()
		for range 10_000 {
			call()
		}
		best = min(best, time.Since(start)/10_000)
	}
	if best > limit {
		t.Errorf("a call that is not due takes %v (limit %v)", best, limit)
	}
	t.Logf("%v per call", best)
}
