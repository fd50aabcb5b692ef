package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// A version that is in memory alone is never in LATEST.json, neither while the job runs nor after it, nor after a
// recovery from it. One that is in files by the end of the job is.
func TestMemoryIsNotTheLatest(t *testing.T) {
	for _, levels := range []string{"mem", "mem:1,pfs:4"} {
		for _, mode := range modes {
			t.Run(levels+" "+mode, func(t *testing.T) {
				w := newMemoryWorld(t, 4, 2, levels, inMode(mode))
				latest := func() (version uint64, err error) {
					data, err := vfs.ReadFile(w.home, "/pfs/prog/LATEST.json", 1<<20)
					if errors.Is(err, fs.ErrNotExist) {
						return 0, nil
					}
					var l storage.Latest
					return l.Version, errors.Join(err, json.Unmarshal(data, &l))
				}
				w.step = func(p *memoryProgram) error {
					if version, err := latest(); err != nil || version > 0 && (levels == "mem" || version%4 != 0) {
						return fmt.Errorf("LATEST.json has version %d before iteration %d: %w", version, p.iter, err)
					}
					if err := comm.Barrier(t.Context(), p.c); err != nil {
						return err
					}
					if p.epoch() == 0 && p.iter == 6 && p.c.Rank() == 1 {
						p.rank.Die()
					}
					return nil
				}
				w.last = func(p *memoryProgram) error {
					if levels == "mem" || p.c.Rank() > 0 {
						return comm.Barrier(t.Context(), p.c)
					}
					err := eventually(func() bool { // in the background
						return slices.ContainsFunc(p.cp.Stored(), func(v StoredVersion) bool { return v.Version == 8 && v.Flushed })
					})
					return errors.Join(err, comm.Barrier(t.Context(), p.c))
				}
				w.run()
				require.GreaterOrEqual(t, w.restarts[1], 5, "from memory")
				version, err := latest()
				require.NoError(t, err)
				require.Equal(t, map[string]uint64{"mem": 0, "mem:1,pfs:4": 8}[levels], version, w.log.String())
			})
		}
	}
}

// A version that has come to the parallel file system since the last write is in LATEST.json when the checkpoint is closed.
func TestLatestAtTheEnd(t *testing.T) {
	for _, levels := range []string{"mem:1,pfs:4", "local:1,pfs:4"} {
		w := newMemoryWorld(t, 4, 2, levels)
		w.until = 8
		w.last = func(p *memoryProgram) error {
			if p.c.Rank() > 0 {
				return comm.Barrier(t.Context(), p.c)
			}
			err := eventually(func() bool {
				came := &p.cp.up.flushed
				came.mu.Lock()
				defer came.mu.Unlock()
				return slices.ContainsFunc(came.list, func(id storage.ID) bool { return id.Version == 8 })
			})
			return errors.Join(err, comm.Barrier(t.Context(), p.c))
		}
		w.run()
		data, err := vfs.ReadFile(w.home, "/pfs/prog/LATEST.json", 1<<20)
		require.NoError(t, err)
		require.Contains(t, string(data), "v-000008", levels)
	}
}
