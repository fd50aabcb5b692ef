package checkpoint

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// Nothing of a job that has ended is kept, though its process lives on: a program may run
// many, as the random suites do.
func TestNothingIsKeptOfAnEndedJob(t *testing.T) {
	for _, inPlace := range []bool{false, true} {
		disk := func() weak.Pointer[vfs.Mem] {
			w := newWorld("partner", "copy", inPlace, loss{node: 1, after: 9})
			w.survives(t)
			return weak.Make(w.home)
		}()
		require.Eventually(t, func() bool {
			runtime.GC()
			return disk.Value() == nil
		}, 30*time.Second, 10*time.Millisecond, "in place: %v", inPlace)
	}
}
