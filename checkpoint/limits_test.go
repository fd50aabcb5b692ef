package checkpoint

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/cptypes"
)

func TestTenThousandKeys(t *testing.T) {
	const keys = 10000
	dir := t.TempDir()
	values := make([]float64, keys)
	all := make(map[string]any)
	for i := range values {
		values[i] = float64(i)
		all[fmt.Sprint("key-", i)] = &values[i]
	}
	store(t, dir, all)
	for i := range values {
		values[i] = -1
	}
	require.NoError(t, open(t, dir, all).RestartIfNeeded(t.Context(), nil))
	for i := range values {
		require.Equal(t, float64(i), values[i])
	}
}

func TestSpecialValues(t *testing.T) {
	dir := t.TempDir()
	quiet, payload := math.NaN(), math.Float64frombits(0x7ff8dead0000beef)
	floats := []float64{quiet, payload, math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.SmallestNonzeroFloat64}
	empty, none := []int{}, []complex128(nil)
	text, noText := "grüße\x00", ""
	var matrix [][]float32
	values := map[string]any{"floats": &floats, "empty": &empty, "none": &none, "text": &text, "no text": &noText, "matrix": &matrix}
	store(t, dir, values)
	want := make([]uint64, len(floats))
	for i, f := range floats {
		want[i] = math.Float64bits(f)
	}
	floats, empty, none, text, noText, matrix = nil, []int{1}, []complex128{1}, "", "x", [][]float32{{1}}
	require.NoError(t, open(t, dir, values).RestartIfNeeded(t.Context(), nil))
	require.Len(t, floats, len(want))
	for i, f := range floats {
		require.Equal(t, want[i], math.Float64bits(f))
	}
	require.Empty(t, empty)
	require.Empty(t, none)
	require.Empty(t, matrix)
	require.Equal(t, "grüße\x00", text)
	require.Empty(t, noText)
}

// Large replicated values are spread over the ranks' files.
func TestLargeReplicatedValue(t *testing.T) {
	dir := t.TempDir()
	const n = 1 << 20
	body := func(until int) func(ctx context.Context, c *comm.Comm) error {
		return func(ctx context.Context, c *comm.Comm) error {
			table := make([]int64, 0)
			cp, err := New("table", c, WithPath(dir), WithCompression(CompressOff), func(o *options) { o.chunkSize = 64 << 10 })
			if err != nil {
				return err
			}
			defer cp.Close()
			_ = cp.Add("table", cptypes.Replicated(&table))
			if err := cp.Commit(); err != nil {
				return err
			}
			iter := 0
			if err := cp.RestartIfNeeded(ctx, &iter); err != nil {
				return err
			}
			if iter > 0 {
				for i, x := range table {
					if x != int64(i+iter-1) {
						return fmt.Errorf("element %d is %d after iteration %d", i, x, iter-1)
					}
				}
			}
			for ; iter < until; iter++ {
				table = table[:0]
				for i := range n {
					table = append(table, int64(i+iter))
				}
				if err := cp.UpdateAndWrite(ctx, iter, 1); err != nil {
					return err
				}
			}
			if written := cp.Stats().BytesWritten; c.Size() > 1 && written > int64(until)*n*8*3/4 {
				return fmt.Errorf("each rank wrote %d bytes, which is not a share", written)
			}
			return nil
		}
	}
	for i, ranks := range []int{3, 3, 5, 1, 2} {
		require.NoError(t, afttest.Run(t.Context(), ranks, body(i+1)), "%d ranks", ranks)
	}
}

// A value of more than 2^31 bytes, and not more memory than the value and 64 MiB.
func TestHugeValue(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("needs several GiB and some seconds; not with -short or -race")
	}
	dir, err := os.MkdirTemp("/dev/shm", "craft-test-*")
	if err != nil {
		t.Skipf("no memory file system: %v", err)
	}
	defer os.RemoveAll(dir)
	collectAsUsual(t)
	const n = 1<<31/8 + 12345
	huge := make([]float64, n)
	for i := range huge {
		huge[i] = float64(i) * 1.000001
	}
	values := map[string]any{"huge": &huge}
	before := peakMemory(t)
	store(t, dir, values)
	require.Less(t, peakMemory(t)-before, int64(64<<20), "memory of a write beside the data")
	huge = nil
	runtime.GC()
	huge = make([]float64, n)
	huge[0] = 1
	before = peakMemory(t)
	require.NoError(t, open(t, dir, values).RestartIfNeeded(t.Context(), nil))
	require.Less(t, peakMemory(t)-before, int64(64<<20), "memory of a restart beside the data")
	require.Len(t, huge, n)
	for i := range huge {
		if huge[i] != float64(i)*1.000001 {
			t.Fatalf("element %d is %v", i, huge[i])
		}
	}
	huge = nil
	runtime.GC()
}

// collectAsUsual is for tests of memory: TestMain lets garbage be.
func collectAsUsual(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

// peakMemory is the most memory that the process has had, in bytes.
func peakMemory(t *testing.T) int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc")
	}
	var kib int64
	for _, line := range strings.Split(string(data), "\n") {
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	t.Skip("no VmHWM in /proc/self/status")
	return 0
}
