package codec

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// BenchmarkMaps writes and reads maps whose types have a fast way, by that and by reflection
// in turn (docs/decisions/0038).
func BenchmarkMaps(b *testing.B) {
	type point struct{ X, Y, Z float64 }
	for _, n := range []int{1000, 10_000, 100_000, 1_000_000} {
		benchmarkMap(b, n, func(i int) (int, float64) { return i * 7919 % n, float64(i) })
		benchmarkMap(b, n, func(i int) (string, point) { return fmt.Sprintf("particle-%d", i), point{float64(i), 1, 2} })
	}
}

func benchmarkMap[K comparable, V any](b *testing.B, n int, entry func(i int) (K, V)) {
	m := make(map[K]V)
	for i := range n {
		k, v := entry(i)
		m[k] = v
	}
	stored := bytesOf(b, &m)
	for _, way := range []string{"fast", "reflection"} {
		c, p := codecOf(b, &m)
		_, err := c.Read(bytes.NewReader(stored), unsafe.Pointer(new(map[K]V)), nil)
		require.NoError(b, err)
		for _, program := range []*program{c.root, c.last.Load().root} {
			require.NotNil(b, program.code[0].fast)
			if way == "reflection" {
				program.code[0].fast = nil
			}
		}
		name := fmt.Sprintf("%T/%d/%s", m, n, way)
		b.Run("write/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Write(io.Discard, p); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("read/"+name, func(b *testing.B) {
			for b.Loop() {
				var into map[K]V
				if _, err := c.Read(bytes.NewReader(stored), unsafe.Pointer(&into), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
