package checkpoint

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// allowedCPUs is the list of processors that the calling thread may use.
func allowedCPUs(t *testing.T) string {
	status, err := os.ReadFile("/proc/thread-self/status")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(status), "Cpus_allowed_list:")
	require.True(t, found)
	list, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(list)
}

// Whatever the writer does in the background, it does on its processors; the
// program's own threads keep theirs.
func TestWriterThreadsArePinned(t *testing.T) {
	before := allowedCPUs(t)
	one := before[strings.LastIndexAny(before, ",-")+1:]
	if one == before {
		t.Skip("there is one processor only")
	}
	t.Setenv("CRAFT_ASYNC_THREAD_PIN_CPULIST", one)
	var mu sync.Mutex
	seen := make(map[string]int)
	disk := vfs.WithErrors(vfs.NewMem(), func(op vfs.Op) error {
		if op.Kind.Mutates() && strings.HasSuffix(op.Path, ".craft.tmp") {
			mu.Lock()
			defer mu.Unlock()
			seen[allowedCPUs(t)]++
		}
		return nil
	})
	v := make([]float64, 1_000_000) // enough for threads of their own to encode it
	cp := open(t, "/cp", map[string]any{"v": &v}, withFS(disk), inMode("copy"))
	for i := range 3 {
		require.NoError(t, cp.UpdateAndWrite(t.Context(), i, 1))
	}
	require.NoError(t, cp.Close())
	require.Len(t, seen, 1)
	require.Greater(t, seen[one], 3*3)
	require.Equal(t, before, allowedCPUs(t))
	require.Positive(t, cp.Stats().WriterCPU)
}
