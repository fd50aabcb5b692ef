package checkpoint

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/filestore"
)

// What a rank does for the levels beside the program, the copies and parity of others
// and flushes, is done on the processors for that, in every mode, and its processor
// time is told and recorded.
func TestWorkForLevelsIsPinnedAndCounted(t *testing.T) {
	before := allowedCPUs(t)
	one := before[strings.LastIndexAny(before, ",-")+1:]
	if one == before {
		t.Skip("there is one processor only")
	}
	t.Setenv("CRAFT_ASYNC_THREAD_PIN_CPULIST", one)
	for _, mode := range []string{"off", "copy"} {
		for _, levels := range sample(t, []string{"partner:1,pfs:2", "xor:1,pfs:2", "rs:1"}, 1) {
			t.Run(mode+" "+levels, func(t *testing.T) {
				var mu sync.Mutex
				seen := make(map[string]map[string]int) // by what is written
				watch := func(what, part string) vfs.FS {
					return vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
						if name := filepath.Base(op.Path); (op.Kind == vfs.OpWrite || op.Kind == vfs.OpCreate) && strings.Contains(name, part) && strings.Contains(name, ".craft") {
							mu.Lock()
							defer mu.Unlock()
							if seen[what] == nil {
								seen[what] = make(map[string]int)
							}
							seen[what][allowedCPUs(t)]++
						}
						return nil
					})
				}
				kind := "parity"
				if strings.HasPrefix(levels, "partner") {
					kind = "copy"
				}
				n := newTestNodes(t, eightOnFour...)
				flush := flushedFirst
				if !strings.Contains(levels, "pfs") {
					flush = none
				}
				n.job(t, levels, 4, func(ctx context.Context, g *grid) error {
					if err := flush(ctx, g); err != nil {
						return err
					}
					if g.cp.Stats().WriterCPU <= 0 {
						return fmt.Errorf("no processor time of rank %d is told", g.c.Rank())
					}
					return nil
				}, WithAsync(AsyncMode(mode)), func(o *options) { o.nodeFS, o.fs = watch("nodes", kind), watch("home", "rank") })
				want := []string{"nodes"}
				if strings.Contains(levels, "pfs") {
					want = append(want, "home")
				}
				for _, what := range want {
					require.Len(t, seen[what], 1, "%s: %v", what, seen)
					require.Greater(t, seen[what][one], 8, "%s: %v", what, seen)
				}
				require.Equal(t, before, allowedCPUs(t))
				records, err := filestore.Records(vfs.OS(), filepath.Join(n.dir, "pfs", "grid"))
				require.NoError(t, err)
				require.Positive(t, records[0].WriterCPU)
			})
		}
	}
}
