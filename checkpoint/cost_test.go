package checkpoint

import (
	"fmt"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// What a version costs that does not depend on the machine: calls to the file
// system, bytes, allocations.
func TestCostOfAVersion(t *testing.T) {
	collectAsUsual(t)
	calls := make(map[vfs.OpKind]int)
	counted := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		calls[op.Kind]++
		return nil
	})
	write := func(t *testing.T, values map[string]any) (*Checkpoint, int64) {
		cp := open(t, t.TempDir(), values, WithCompression(CompressOff), WithLogger(slog.New(slog.DiscardHandler)),
			func(o *options) { o.fs, o.lock.Heartbeat = counted, time.Hour })
		for range 4 { // from the third on a version is deleted each time
			before := cp.Stats().BytesWritten
			clear(calls)
			require.NoError(t, cp.Write(t.Context()))
			if cp.Stats().VersionsWritten == 4 {
				return cp, cp.Stats().BytesWritten - before
			}
		}
		panic("not reached")
	}
	t.Run("1,000 scalars", func(t *testing.T) {
		numbers := make([]float64, 1000)
		values := make(map[string]any)
		for i := range numbers {
			values[fmt.Sprint("value-", i)] = &numbers[i]
		}
		cp, bytes := write(t, values)
		require.LessOrEqual(t, bytes, int64(1000*(8+110)+1000))
		require.LessOrEqual(t, calls[vfs.OpWrite], 4, "the file, the note and the record: %v", calls)
		require.LessOrEqual(t, calls[vfs.OpSync], 1)
		require.LessOrEqual(t, calls[vfs.OpSyncDir], 2)
		require.LessOrEqual(t, calls[vfs.OpCreate], 3)
		require.LessOrEqual(t, calls[vfs.OpMkdir], 1)
		total := 0
		for _, n := range calls {
			total += n
		}
		require.LessOrEqual(t, total, 36, "%v", calls)
		if !raceEnabled {
			allocs := math.Inf(1) // the best of some: other goroutines of the process allocate too
			for range 5 {
				allocs = min(allocs, testing.AllocsPerRun(20, func() { require.NoError(t, cp.Write(t.Context())) }))
			}
			require.LessOrEqual(t, allocs, 250.0, "allocations must not grow with the values")
		}
	})
	t.Run("64 MiB", func(t *testing.T) {
		data := make([]float64, 8<<20)
		for i := range data {
			data[i] = float64(i)
		}
		_, bytes := write(t, map[string]any{"data": &data})
		require.LessOrEqual(t, bytes, int64(64<<20+16<<10))
		require.LessOrEqual(t, calls[vfs.OpWrite], 16+4, "large calls from the values' own memory: %v", calls)
	})
}
